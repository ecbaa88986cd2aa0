"""Kernel entries of a platform for the cores of one rank that factor a panel with Intel's MKL (docs/kernels.md, "A BLAS with several threads").

What MKL 2020.4 divides among T threads was asked of the library itself: the parallel regions that a call opens, and for how many threads, were counted
for every shape (16 and 4 threads, AVX-512 and AVX2). HPL's own loops (rows of a panel, HPL_dlacpy, HPL_dlatcpy) are one thread's in netlib's source.
"""

LINE = 64  # bytes that the memory moves for one number of a row whose columns are far apart
# A row that is copied out of a panel costs a line in for each number, one copied into it a line in and out again.
ROW_LINES = 1.5


def segments(rates):
    """dgemm m x NB x NB by NB as (first k, last k, Gflop/s, GB/s): between two measured sizes, and beyond them, seconds a flop are linear in 1 / NB. Bytes
    are those of C (twice) and A: 24 m NB for 2 m NB^2 flops."""
    sizes = sorted(rates)
    found = []
    for low, high in zip(sizes, sizes[1:]):
        slope = (1 / rates[low] - 1 / rates[high]) / (1 / low - 1 / high)
        base = 1 / rates[low] - slope / low
        found.append([low, high - 1, 1 / base if base > 0 else None, 12 / slope if slope > 0 else None])
    found[0][0], found[-1][1] = 1, None
    return found


def entry(name, rate=None, bandwidth=None, call=0, **keys):
    words = ['name: "%s"' % name]
    if rate:
        words.append('rate: "%.6gGflops"' % rate)
    if bandwidth:
        words.append('bandwidth: "%.6gGB/s"' % bandwidth)
    if call:
        words.append('intercept: "%.6gus"' % call)
    words += ['%s: "%s"' % (k, v) for k, v in keys.items() if v]
    return "  kernel { %s }\n" % " ".join(words)


def span(first, last):
    return "%d-%s" % (first, "" if last is None else last)


def host_blas(threads, memory, rates, one_memory, one_rates, one_copy, call, others, nbmin, products=128000):
    """`threads` cores: memory GB/s together and one_memory for one of them, bytes that the memory moves; one_copy: what one core copies, read and written;
    rates and one_rates: dgemm by NB, Gflop/s; call: us of a call that several threads share; others: Gflop/s and GB/s of the kernels that are not named
    here; nbmin: columns of the recursion's last level; products: m n k of dgemm from which on the threads share it."""
    call = call if threads > 1 else 0
    share = lambda t: min(t * one_memory, memory)
    one = lambda name, **keys: entry(name, bandwidth=one_memory, **keys)
    text = entry("dcopy", bandwidth=one_memory * 16 / (ROW_LINES * LINE))
    text += entry("dlacpy", bandwidth=one_copy) + entry("dlatcpy", bandwidth=one_copy) + one("dger") + one("dtrsv")
    if threads > 1:
        for name, grain in (("dscal", 4096), ("idamax", 4096), ("daxpy", 2048)):
            text += one(name, for_m=span(1, 2 * grain - 1))
            for t in range(3, threads):  # a thread for each grain, from two grains on
                if share(t) < memory:
                    text += entry(name, bandwidth=share(t), call=call, for_m=span((t - 1) * grain, t * grain))
        for n in range(1, nbmin):
            text += one("dgemv", for_n=str(n), for_m=span(1, (4096 * threads - 1) // n))
        for name in ("dtrsm_left", "dtrsm_right"):
            text += entry(name, rate=one_rates[64], bandwidth=one_memory, for_m="1-63", for_n="1-63")
        first, last, rate, width = segments(one_rates)[0]
        for k in range(2, 48):
            text += entry("dgemm", rate, width, for_k=str(k), for_m=span(1, products // k**2))
    for name in ("dscal", "idamax", "daxpy", "dgemv"):
        text += entry(name, bandwidth=memory, call=call)
    for first, last, rate, width in segments(rates):
        text += entry("dgemm", rate, width, call, for_k=span(first, last))
    return text + entry("*", *others, call)

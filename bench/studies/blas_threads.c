// How many threads MKL gives to a call, by its shape: counts the parallel regions that a call opens, for what number of threads.
//
//   cc -O1 blas_threads.c -o blas_threads -rdynamic -lmkl_gf_lp64 -lmkl_gnu_thread -lmkl_core -lgomp -lm -ldl -lpthread
//   MKL_DYNAMIC=FALSE MKL_NUM_THREADS=16 OMP_NUM_THREADS=16 ./blas_threads
//
// Prints for each kernel "from m : threads" as m grows to 88,000 rows. No time is taken, so it may run anywhere; the number of
// threads need not be that of the machine's cores. What it said of MKL 2020.4 is in docs/kernels.md.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 90000, kColumns = 128, kTriangle = 256 };

static int threads_asked;

void GOMP_parallel_start(void (*function)(void*), void* data, unsigned threads) {
  static void (*real)(void (*)(void*), void*, unsigned);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "GOMP_parallel_start");
  if ((int)threads > threads_asked) threads_asked = (int)threads;
  real(function, data, threads);
}

void dscal_(const int*, const double*, double*, const int*);
int idamax_(const int*, const double*, const int*);
void dcopy_(const int*, const double*, const int*, double*, const int*);
void daxpy_(const int*, const double*, const double*, const int*, double*, const int*);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*,
            const int*, const double*, double*, const int*);
void dger_(const int*, const int*, const double*, const double*, const int*, const double*, const int*,
           double*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
            const int*, const double*, const int*, const double*, double*, const int*);

static double *matrix, *triangle, *vector;
static const double kOne = 1, kMinus = -1, kScale = 1.0000001;
static const int kStep = 1, kLda = kRows, kLdt = kTriangle;
static int width;  // columns, and depth of dgemm

static void scal(int m) { dscal_(&m, &kScale, matrix, &kStep); }
static void amax(int m) { idamax_(&m, matrix, &kStep); }
static void copy(int m) { dcopy_(&m, matrix, &kStep, vector, &kStep); }
static void axpy(int m) { daxpy_(&m, &kScale, matrix, &kStep, vector, &kStep); }
static void gemv(int m) {
  dgemv_("N", &m, &width, &kMinus, matrix, &kLda, triangle, &kStep, &kOne, vector, &kStep);
}
static void ger(int m) { dger_(&m, &width, &kMinus, matrix, &kStep, triangle, &kLdt, matrix + kRows, &kLda); }
static void gemm(int m) {
  dgemm_("N", "N", &m, &width, &width, &kMinus, matrix, &kLda, triangle, &kLdt, &kOne,
         matrix + (size_t)kRows * (kColumns / 2), &kLda);
}

static int threads_of(void (*call)(int), int m) {
  threads_asked = 1;
  call(m);
  return threads_asked;
}

static void scan(const char* name, void (*call)(int)) {
  int last = threads_of(call, 1);
  printf("%-8s %2d columns: 1:%d", name, width, last);
  for (int m = 100; m <= 88000; m += 100) {
    const int now = threads_of(call, m);
    if (now == last) continue;
    int low = m - 100, high = m;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (threads_of(call, middle) == last)
        low = middle;
      else
        high = middle;
    }
    printf(" %d:%d", high, now);
    last = now;
  }
  printf("\n");
}

int main(void) {
  matrix = calloc((size_t)kRows * kColumns, sizeof *matrix);
  triangle = calloc((size_t)kTriangle * kTriangle, sizeof *triangle);
  vector = calloc(kRows, sizeof *vector);
  if (!matrix || !triangle || !vector) return 1;
  width = 1;
  scan("dscal", scal);
  scan("idamax", amax);
  scan("dcopy", copy);
  scan("daxpy", axpy);
  for (width = 1; width <= 8; ++width) scan("dgemv", gemv);
  for (width = 1; width <= 64; width *= 4) scan("dger", ger);
  for (width = 1; width <= 32; width = width < 8 ? width + 1 : width + 4) scan("dgemm", gemm);
  return 0;
}

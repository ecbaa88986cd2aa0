# The study that the scripts beside this file divide: replace it by yours. A word of the command a line; the trace and the
# platforms must be found under these names where the shards run.
study=(
  sweep traces/samples/hpl_4x4_2000_64.weft
  --on fat-tree-16 --on torus-16
  --set bw=10Gbps,25Gbps,50Gbps,100Gbps
  --set lat=500ns,1us,2us
)
journal=${JOURNAL:-study.journal} # a folder that all machines see
shards=${SHARDS:-8}
weft=${WEFT:-weft}

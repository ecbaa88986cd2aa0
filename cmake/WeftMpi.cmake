# The MPI libraries of this machine that the recorder can be built for: one for each binary interface (ABI), told by what the
# header of a wrapper compiler says. WEFT_MPI_ABIS: their names, as in traces/recorder/abi.hpp; for each of them
# WEFT_MPI_<abi>_CC, its wrapper compiler, WEFT_MPI_<abi>_INCLUDE, the folder of its mpi.h, and WEFT_MPI_<abi>_STANDARD, the
# version of MPI (3, 4).
set(WEFT_MPICC "mpicc;mpicc.openmpi;mpicc.mpich;cc" CACHE STRING
  "MPI wrapper compilers to build recorders for; of several with one binary interface the first")

function(weft_find_mpis)
  set(abis)
  set(probe ${PROJECT_BINARY_DIR}/mpi_probe.c)
  file(WRITE ${probe} "#include <mpi.h>\n")
  foreach(name IN LISTS WEFT_MPICC)
    find_program(compiler ${name} NO_CACHE)
    if(compiler)
      # Macros and line markers: which library, and where its header is.
      execute_process(COMMAND ${compiler} -E -dD ${probe} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
      set(abi)
      if(failed)
      elseif(text MATCHES "#define OPEN_MPI ")
        set(abi openmpi)
      elseif(text MATCHES "#define (MPICH_NUMVERSION|MPICH_VERSION|I_MPI_VERSION|MVAPICH[0-9]*_VERSION) ")
        set(abi mpich)
      endif()
      if(abi AND NOT abi IN_LIST abis AND text MATCHES "# [0-9]+ \"([^\"]*)/mpi\\.h\"")
        list(APPEND abis ${abi})
        set(WEFT_MPI_${abi}_CC ${compiler} PARENT_SCOPE)
        set(WEFT_MPI_${abi}_INCLUDE ${CMAKE_MATCH_1} PARENT_SCOPE)
        string(REGEX MATCH "#define MPI_VERSION +([0-9]+)" standard "${text}")
        set(WEFT_MPI_${abi}_STANDARD ${CMAKE_MATCH_1} PARENT_SCOPE)
      endif()
    endif()
    unset(compiler)
  endforeach()
  set(WEFT_MPI_ABIS ${abis} PARENT_SCOPE)
endfunction()

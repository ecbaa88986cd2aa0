! The calls of fortran_test.cpp through "use mpi_f08"; 4 ranks.
program calls
  use mpi_f08
  implicit none
  integer :: ierr, rank, nproc, next, prev
  integer :: counts(4) = [1, 2, 3, 4], displs(4) = [0, 1, 3, 6]
  logical :: flag
  double precision :: a(64), b(64)
  type(MPI_Comm) :: row
  type(MPI_Datatype) :: vec
  type(MPI_Status) :: stat
  type(MPI_Request) :: q(2)
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_comm_size(MPI_COMM_WORLD, nproc, ierr)
  next = mod(rank + 1, 4)
  prev = mod(rank + 3, 4)
  call mpi_comm_split(MPI_COMM_WORLD, rank / 2, rank, row, ierr)
  call mpi_type_vector(5, 2, 4, MPI_DOUBLE_PRECISION, vec, ierr)
  call mpi_type_commit(vec, ierr)
  if (mod(rank, 2) == 0) then
    call mpi_send(a, 1, vec, 1, 7, row, ierr)
  else
    flag = .false.
    do while (.not. flag)
      call mpi_iprobe(0, 7, row, flag, stat, ierr)
    end do
    call mpi_recv(b, 64, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, row, MPI_STATUS_IGNORE, ierr)
  end if
  call mpi_irecv(b, 3, MPI_DOUBLE_PRECISION, prev, 1, MPI_COMM_WORLD, q(1), ierr)
  call mpi_isend(a, 3, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, q(2), ierr)
  call mpi_waitall(2, q, MPI_STATUSES_IGNORE, ierr)
  call mpi_irecv(b, 3, MPI_DOUBLE_PRECISION, prev, 2, MPI_COMM_WORLD, q(1), ierr)
  call mpi_ssend(a, 0, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 2, MPI_COMM_WORLD, ierr)
  call mpi_send(a, 2, MPI_DOUBLE_PRECISION, next, 2, MPI_COMM_WORLD, ierr)
  call mpi_wait(q(1), stat, ierr)
  call mpi_allreduce(MPI_IN_PLACE, a, 4, MPI_DOUBLE_PRECISION, MPI_SUM, row, ierr)
  call mpi_gatherv(a, rank + 1, MPI_DOUBLE_PRECISION, b, counts, displs, MPI_DOUBLE_PRECISION, 2, MPI_COMM_WORLD, ierr)
  call mpi_comm_free(row, ierr)
  call mpi_type_free(vec, ierr)
  call mpi_finalize(ierr)
end program calls

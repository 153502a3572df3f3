// REQUIRES: ptxas

module logger

go 1.21

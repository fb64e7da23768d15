module jsonerrors

go 1.19

module genba/standalone

go 1.26

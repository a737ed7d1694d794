module outboxrelay/infra

go 1.26.8

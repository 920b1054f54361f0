module valkey-operator/lab/pause

go 1.26.0

window.BENCHMARK_DATA = {
  "lastUpdate": 1777600000000,
  "repoUrl": "https://github.com/acme/x",
  "entries": {
    "Rust": [
      {
        "commit": {
          "author": {
            "name": "a"
          },
          "id": "aaaa111122223333444455556666777788889999",
          "message": "m",
          "timestamp": "2026-05-01T00:00:00Z",
          "url": ""
        },
        "date": 1,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_20",
            "value": 37174,
            "range": "\u00b1 7527",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "name": "a"
          },
          "id": "bbbb111122223333444455556666777788889999",
          "message": "m",
          "timestamp": "2026-05-01T00:00:00Z",
          "url": ""
        },
        "date": 2,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_20",
            "value": 38523,
            "range": "\u00b1 611",
            "unit": "ns/iter"
          }
        ]
      }
    ],
    "Python": [
      {
        "commit": {
          "author": {
            "name": "a"
          },
          "id": "aaaa111122223333444455556666777788889999",
          "message": "m",
          "timestamp": "2026-05-01T00:00:00Z",
          "url": ""
        },
        "date": 1,
        "tool": "pytest",
        "benches": [
          {
            "name": "bench.py::test_fib",
            "value": 41513.27,
            "unit": "iter/sec",
            "range": "stddev: 0.000024",
            "extra": "mean: 24.1 usec\nrounds: 38523"
          }
        ]
      }
    ],
    "Serving": [
      {
        "commit": {
          "author": {
            "name": "a"
          },
          "id": "bbbb111122223333444455556666777788889999",
          "message": "m",
          "timestamp": "2026-05-01T00:00:00Z",
          "url": ""
        },
        "date": 2,
        "tool": "customBiggerIsBetter",
        "benches": [
          {
            "name": "tokens",
            "value": 4472.5,
            "unit": "tok/s"
          }
        ]
      }
    ]
  }
}
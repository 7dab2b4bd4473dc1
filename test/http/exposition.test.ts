import { expect, test } from 'bun:test'
import { Distribution } from '../../src/domain/measures'
import { exposed } from '../../src/http/listening/exposition'

test('http: the Prometheus text has a line for each counter sample, with escaped label values', () => {
  const samples = [
    [{ a: 'plain', b: 2 }, 3],
    [{ a: 'back\\slash "quote"\nline' }, 0.5],
  ] as const
  expect(exposed([{ name: 'one_total', help: 'Ones.', type: 'counter', samples }])).toBe(
    [
      '# HELP one_total Ones.',
      '# TYPE one_total counter',
      'one_total{a="plain",b="2"} 3',
      'one_total{a="back\\\\slash \\"quote\\"\\nline"} 0.5',
      '',
    ].join('\n'),
  )
})

test('http: the Prometheus text of a histogram has cumulative buckets in seconds, a sum and a count', () => {
  const spread = new Distribution([0.1, 2.5, 100])
  for (const millis of [0.05, 0.05, 2, 7_000]) spread.note(millis)
  const of = [[{ route: '/x' }, spread]] as const
  expect(exposed([{ name: 'took_seconds', help: 'Time.', type: 'histogram', scale: 1 / 1_000, of }])).toBe(
    [
      '# HELP took_seconds Time.',
      '# TYPE took_seconds histogram',
      'took_seconds_bucket{route="/x",le="0.0001"} 2',
      'took_seconds_bucket{route="/x",le="0.0025"} 3',
      'took_seconds_bucket{route="/x",le="0.1"} 3',
      'took_seconds_bucket{route="/x",le="+Inf"} 4',
      'took_seconds_sum{route="/x"} 7.0021',
      'took_seconds_count{route="/x"} 4',
      '',
    ].join('\n'),
  )
})

test('http: the Prometheus text omits a metric without samples', () => {
  expect(exposed([{ name: 'gone', help: 'Gone.', type: 'gauge', samples: [] }])).toBe('\n')
})

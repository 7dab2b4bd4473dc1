import type { Distribution } from '../../domain/measures'

export type Sample = readonly [labels: Record<string, string | number>, value: number]

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly samples: readonly Sample[]
}

/** Values are multiplied by `scale`, because durations are measured in ms but exposed in seconds. */
export interface Histogram extends Pick<Metric, 'name' | 'help'> {
  readonly type: 'histogram'
  readonly scale: number
  readonly of: readonly (readonly [labels: Record<string, string | number>, Distribution])[]
}

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** Prometheus text format 0.0.4. prom-client would take 0.6 to 1.4 us per request, a fifth of a response. */
export function exposed(metrics: readonly (Metric | Histogram)[]): string {
  return metrics.flatMap(lines).join('\n').concat('\n')
}

function lines(metric: Metric | Histogram): string[] {
  const { name, help, type } = metric
  const series = metric.type === 'histogram' ? bucketLines(metric) : sampleLines(name, metric.samples)
  // Omits a metric without a known value, because a wrong value would mislead alerts.
  return series.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...series]
}

function sampleLines(name: string, samples: readonly Sample[]): string[] {
  return samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}`)
}

function bucketLines({ name, scale, of }: Histogram): string[] {
  return of.flatMap(([labels, { bounds, counts, sum }]) => {
    let count = 0
    const buckets = counts.map((more, place): Sample => {
      count += more
      const bound = bounds[place]
      // Removes rounding errors: 0.0025, not 0.0025000000000000001.
      const le = bound === undefined ? '+Inf' : String(Number((bound * scale).toPrecision(12)))
      return [{ ...labels, le }, count]
    })
    const ends = [
      `${name}_sum${labelText(labels)} ${sum * scale}`,
      `${name}_count${labelText(labels)} ${count}`,
    ]
    return [...sampleLines(`${name}_bucket`, buckets), ...ends]
  })
}

function labelText(labels: Record<string, string | number>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

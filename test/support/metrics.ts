interface Metric {
  readonly type: string
  /** Maps each series (name with labels) to its value. */
  readonly series: Map<string, number>
}

const label = String.raw`[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"`
const line = new RegExp(String.raw`^([a-z_]+)(\{${label}(?:,${label})*\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$`)

/**
 * Parses metrics in the text format 0.0.4.
 *
 * @throws Error for an invalid, repeated or misplaced line
 */
export function parseMetrics(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>()
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  let helped = ''
  let current = ''
  for (const one of text.slice(0, -1).split('\n')) {
    const help = /^# HELP ([a-z_]+) \S.*$/.exec(one)?.[1]
    const [, typed, type] = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(one) ?? []
    if (help) helped = help
    else if (typed && type) {
      if (typed !== helped || metrics.has(typed)) throw new Error(`out of place: ${one}`)
      metrics.set(typed, { type, series: new Map() })
      current = typed
    } else {
      const [, name = '', labels = '', value] = line.exec(one) ?? []
      const metric = metrics.get(current)
      const base = metric?.type === 'histogram' ? name.replace(/_(bucket|sum|count)$/, '') : name
      if (!metric || base !== current || metric.series.has(name + labels))
        throw new Error(`no metric: ${one}`)
      metric.series.set(name + labels, Number(value))
    }
  }
  return metrics
}

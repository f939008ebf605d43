/** One line of a scrape. */
export interface ScrapedSample {
  /** With its suffix, for a histogram. */
  name: string
  labels: Record<string, string>
  value: number
}

/** A scrape with its declared metrics and samples. */
export interface Exposition {
  samples: ScrapedSample[]
  /** By name, without a histogram's suffixes. */
  types: Map<string, string>
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.eE+-]+|NaN|Nan|\+Inf|-Inf)$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/

/**
 * Parses Prometheus' text format, strictly.
 * @throws Error for an invalid line, a metric with no or two descriptions, a repeated series.
 */
export function readExposition(text: string): Exposition {
  const types = new Map<string, string>()
  const helped = new Set<string>()
  const seen = new Set<string>()
  const samples: ScrapedSample[] = []
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP' && !helped.has(name)) helped.add(name)
    else if (kind === 'TYPE' && !types.has(name)) types.set(name, rest)
    else if (line !== '') {
      if (seen.has(line.replace(/ \S+$/, ''))) throw new Error(`twice: ${line}`)
      seen.add(line.replace(/ \S+$/, ''))
      samples.push(readSample(line))
    }
  }
  for (const { name } of samples) {
    const base = metricOf(name, types)
    if (!types.has(base) || !helped.has(base)) throw new Error(`not described: ${name}`)
  }
  return { samples, types }
}

/** The metric of a sample: samples of histograms and summaries have suffixes. */
export function metricOf(sample: string, types: ReadonlyMap<string, string>): string {
  const base = sample.replace(/_(bucket|sum|count)$/, '')
  return /^(histogram|summary)$/.test(types.get(base) ?? '') ? base : sample
}

function readSample(line: string): ScrapedSample {
  const [, name, text = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined) throw new Error(`not a sample: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = text; rest !== ''; ) {
    const [whole, label = '', quoted = ''] = LABEL.exec(rest) ?? []
    if (whole === undefined || label in labels) throw new Error(`wrong labels: ${line}`)
    labels[label] = quoted.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value: Number(value?.replace('Inf', 'Infinity').replace('Nan', 'NaN')) }
}

/** The samples of a metric that are not 0, with the label values as keys: `{ 'sms accepted': 3 }`. */
export function nonZero({ samples }: Exposition, name: string): Record<string, number> {
  const mine = samples.filter((sample) => sample.name === name && sample.value !== 0)
  return Object.fromEntries(
    mine.map(({ labels, value }) => [Object.values(labels).join(' '), value]),
  )
}

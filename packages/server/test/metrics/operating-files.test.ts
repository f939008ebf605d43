import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Exposition, metricOf, readExposition } from './exposition.ts'
import { groupingsOf, selectorsOf } from './promql.ts'
import { openServed, type Served } from './served.ts'

/** Whether Prometheus' checker is installed; Debian's package is `prometheus`. */
const isPromtoolInstalled = spawnSync('promtool', ['--version']).status === 0

/** The text for the title of a suite. */
const PROMTOOL = isPromtoolInstalled
  ? 'promtool'
  : 'promtool (not installed: apt-get install prometheus)'

const FOLDER = fileURLToPath(new URL('../../../../docs/operating/', import.meta.url))
const ALERTS = join(FOLDER, 'alerts.yml')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

interface Alert {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; action: string }
}

interface Panel {
  title: string
  type: string
  description?: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string; legendFormat: string }[]
}

const alerts = (parse(read('alerts.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
)
const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
  title: string
  schemaVersion: number
  panels: Panel[]
  templating: { list: { name: string; definition?: string }[] }
}
const panels = dashboard.panels.filter(({ type }) => type !== 'row')

/** The labels that Prometheus adds. */
const OF_PROMETHEUS = ['job', 'instance']

let served: Served
let text: string
let scrape: Exposition

beforeAll(async () => {
  // A provider without traffic: the sandbox gets all messages.
  served = await openServed({
    TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
    TWILIO_AUTH_TOKEN: '0'.repeat(32),
    TWILIO_VOICE_FROM: '+15005550006',
  })
  await served.client.messages.send({
    channel: 'sms',
    to: '+14155552671',
    content: { text: 'Hello' },
  })
  await served.idle()
  await vi.waitFor(
    async () => {
      text = await served.scrape()
      expect(text).toContain('svc_messages{')
    },
    { timeout: 10_000, interval: 250 },
  )
  scrape = readExposition(text)
})
afterAll(() => served.close())

/** For each sample name, the values of each label. */
function labelsOf(name: string): Map<string, Set<string>> | null {
  const mine = scrape.samples.filter((sample) => sample.name === name)
  if (mine.length === 0) return null
  const values = new Map<string, Set<string>>(OF_PROMETHEUS.map((label) => [label, new Set()]))
  for (const { labels } of mine) {
    for (const [label, value] of Object.entries(labels)) {
      values.set(label, (values.get(label) ?? new Set()).add(value))
    }
  }
  return values
}

/** The fault of an expression: a metric, label or value that a running server does not have. */
function faultsOf(expression: string): string[] {
  const selectors = selectorsOf(expression)
  if (selectors.length === 0) return [`no metric in ${expression}`]
  const known = new Set(OF_PROMETHEUS)
  const faults = selectors.flatMap(({ name, matchers }) => {
    if (name === 'up') return []
    const labels = labelsOf(name)
    if (!labels) return [`no metric ${name}`]
    for (const label of labels.keys()) known.add(label)
    return matchers.flatMap(({ label, operator, value }) => {
      const values = labels.get(label)
      if (!values) return [`${name} has no label ${label}`]
      // The set of statuses depends on the requests.
      if (OF_PROMETHEUS.includes(label) || name.startsWith('svc_http_')) return []
      const required = operator.endsWith('~') ? value.split('|') : [value]
      return required
        .filter((one) => !values.has(one))
        .map((one) => `${name} has no ${label} ${one}`)
    })
  })
  const strange = groupingsOf(expression).filter((label) => !known.has(label))
  return [...faults, ...strange.map((label) => `no label ${label} in ${expression}`)]
}

describe('the page about the metrics', () => {
  const rows = read('metrics.md').matchAll(/^\| `(svc_[a-z0-9_]+)` \| (\w+) \|([^|]*)\| (.+) \|$/gm)
  const described = new Map(
    [...rows].map(([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '') },
    ]),
  )

  it('describes each metric of a server, and no other', () => {
    const exported = [...scrape.types.keys()].filter((name) => name.startsWith('svc_'))
    expect(exported.length).toBeGreaterThan(35)
    expect([...described.keys()].toSorted()).toEqual(exported.toSorted())
  })

  it('has their types and all of their labels', () => {
    const found = [...described.keys()].map((name) => {
      const mine = scrape.samples.filter((sample) => metricOf(sample.name, scrape.types) === name)
      const labels = new Set(mine.flatMap((sample) => Object.keys(sample.labels)))
      labels.delete('le')
      return [name, { type: scrape.types.get(name), labels: [...labels] }]
    })
    // A server without read replicas has no series of theirs: scrape.test.ts reads those of one that has.
    const expected = [...described].map(([name, { type, labels }]) => [
      name,
      { type, labels: name.startsWith('svc_replica_') ? [] : labels },
    ])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
  })
})

describe('the alerts', () => {
  it('have unique names, and state the fault and the action', () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
    for (const { alert, labels, annotations } of alerts) {
      expect(alert).toMatch(/^Svc[A-Za-z]+$/)
      expect(labels.severity).toMatch(/^(critical|warning)$/)
      expect(annotations.summary).not.toBe('')
      expect(annotations.action).not.toBe('')
    }
  })

  it.each(alerts)('use only metrics of a server: $alert', ({ expr }) => {
    expect(faultsOf(expr)).toEqual([])
  })
})

describe('the dashboard', () => {
  it('is for Grafana 10, with a data source and a job to select', () => {
    expect(dashboard).toMatchObject({ title: 'svc', schemaVersion: 39 })
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'job'])
    expect(faultsOf('svc_build_info')).toEqual([])
  })

  it.each(panels)('uses only metrics of a server: $title', ({ targets, description }) => {
    expect(description).not.toBe('')
    expect(targets?.length).toBeGreaterThan(0)
    for (const { expr, legendFormat } of targets ?? []) {
      expect(faultsOf(expr)).toEqual([])
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label)
      const grouped = [...groupingsOf(expr), 'instance']
      expect(shown.filter((label) => !grouped.includes(label ?? ''))).toEqual([])
    }
  })

  it('has no two panels in one place', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...dashboard.panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
  })
})

it('the check finds a metric, a label, a value or a grouping that no server has', () => {
  expect(faultsOf('rate(svc_nothing_total[5m])')).toEqual(['no metric svc_nothing_total'])
  expect(faultsOf('svc_queue_due{lane="messages"}')).toEqual(['svc_queue_due has no label lane'])
  expect(faultsOf('svc_queue_due{queue=~"messages|mail"}')).toEqual([
    'svc_queue_due has no queue mail',
  ])
  expect(faultsOf('sum by (workspace) (svc_queue_due)')).toEqual([
    'no label workspace in sum by (workspace) (svc_queue_due)',
  ])
})

describe.runIf(isPromtoolInstalled)(`checked with ${PROMTOOL}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-promtool-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('a scrape is sound', () => {
    expect(promtool(['check', 'metrics'], text)).toBe('')
  })

  it('the alerts are valid', () => {
    expect(promtool(['check', 'rules', ALERTS])).toContain(`SUCCESS: ${alerts.length} rules found`)
  })

  /** Tests an alert with these series of one value a minute. */
  function test(alertname: string, input_series: object[], at: string, exp_alerts: object[]) {
    const file = join(folder, `${alertname}.yml`)
    const alert_rule_test = [{ eval_time: at, alertname, exp_alerts }]
    const tests = [{ interval: '1m', input_series, alert_rule_test }]
    writeFileSync(file, stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }))
    return promtool(['test', 'rules', file])
  }

  it('the alert of late messages fires after its delay', () => {
    const series = [
      {
        series: 'svc_queue_oldest_due_seconds{job="svc",instance="a",queue="messages"}',
        values: '0 60+60x20',
      },
    ]
    const fired = {
      exp_labels: { job: 'svc', severity: 'critical' },
      exp_annotations: {
        summary: 'The oldest due message is 10m 0s late',
        action: alerts.find(({ alert }) => alert === 'SvcMessagesLate')?.annotations.action,
      },
    }
    expect(test('SvcMessagesLate', series, '5m', [])).toContain('SUCCESS')
    expect(test('SvcMessagesLate', series, '10m', [fired])).toContain('SUCCESS')
  })

  it('the alert of a provider fires for a third of refusals, and not for five attempts', () => {
    const attempts = (provider: string, outcome: string, values: string) => ({
      series: `svc_provider_attempts_total{job="svc",instance="a",provider="${provider}",channel="sms",outcome="${outcome}"}`,
      values,
    })
    const series = [
      attempts('twilio', 'accepted', '0+20x40'),
      attempts('twilio', 'rejected', '0+10x40'),
      attempts('smpp', 'accepted', '0+100x40'),
      attempts('smpp', 'rejected', '0+1x40'),
      attempts('smtp', 'rejected', '0x35 5'),
    ]
    const { action } = (alerts.find(({ alert }) => alert === 'SvcProviderFailing') as Alert)
      .annotations
    const fired = {
      exp_labels: { job: 'svc', provider: 'twilio', severity: 'warning' },
      exp_annotations: { summary: 'twilio does not accept 33.33% of the attempts', action },
    }
    expect(test('SvcProviderFailing', series, '30m', [fired])).toContain('SUCCESS')
  })
})

/** Runs promtool; returns its output, or throws it on a failure. */
function promtool(args: readonly string[], input = ''): string {
  try {
    return execFileSync('promtool', args, { input, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`promtool ${args.join(' ')}: ${stdout}${stderr}`)
  }
}

import type { WebhookHealth } from '@svc/client'
import { Chart, type Column, Facts, Loaded, Select, Table, Time } from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { duration, exactTime, number, utcDay } from '../../shell/format.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { query, setQuery } from '../../shell/router.ts'
import { LOCALE, t } from '../../shell/text.ts'
import { answerText } from './answer.ts'

const PERIODS = [
  ['24h', t('Last 24 hours')],
  ['7d', t('Last 7 days')],
  ['30d', t('Last 30 days')],
] as const

const PERCENT = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 })

type Failure = WebhookHealth['failures'][number]
type Point = WebhookHealth['points'][number]

const FAILURES: readonly Column<Failure>[] = [
  { name: t('Time'), kind: 'main', value: ({ at }) => <Time at={at} /> },
  { name: t('Event'), value: ({ event }) => event },
  { name: t('Answer'), value: answerText },
  {
    name: t('Body of the answer'),
    kind: 'wide',
    value: ({ response_body: body }) => body && <code>{body}</code>,
  },
  { name: t('Duration'), kind: 'number', value: ({ duration_ms }) => duration(duration_ms) },
]

function shownPeriod() {
  return PERIODS.find(([one]) => one === query.value.get('period'))?.[0] ?? '24h'
}

/** Loads the health of a webhook in the period of the address. */
export function useHealth(id: string) {
  const period = shownPeriod()
  return useLoad((signal) => api.webhooks.health(id, { period }, { signal }), [id, period])
}

/** How the receiver of a webhook answers: the share of successes, its times, and the last failed answers. */
export function Health({ id, load }: { id: string; load: Load<{ health: WebhookHealth }> }) {
  return (
    <section class="card stack">
      <div class="actions">
        <h2>{t('Health')}</h2>
        <Select
          bare
          label={t('Period')}
          value={shownPeriod()}
          options={PERIODS}
          onInput={(one) => setQuery({ period: one }, { to: `/webhooks/${id}` })}
        />
      </div>
      <Loaded of={load}>{({ health }) => <Report of={health} id={id} />}</Loaded>
    </section>
  )
}

function Report({ of: health, id }: { of: WebhookHealth; id: string }) {
  const { attempts, succeeded, success_rate, p50_ms, p99_ms, points, failures } = health
  if (attempts === 0 && failures.length === 0) {
    return <p class="muted">{t('No attempts in this period.')}</p>
  }
  const share = success_rate === null ? '–' : PERCENT.format(success_rate)
  const times = points.map(({ since }) => Date.parse(since) / 1000)
  return (
    <>
      <Facts
        of={{
          [t('Successful attempts')]: t('{share} ({succeeded} of {attempts})', {
            share,
            succeeded: number(succeeded),
            attempts: number(attempts),
          }),
          [t('Half of the answers within (p50)')]: p50_ms === null ? null : duration(p50_ms),
          [t('99 % of the answers within (p99)')]: p99_ms === null ? null : duration(p99_ms),
          [t('First failure since the last success')]: health.failing_since && (
            <Time at={health.failing_since} exact />
          ),
          [t('Disabled since')]: health.disabled_at && <Time at={health.disabled_at} exact />,
        }}
      />
      {attempts > 0 && (
        <>
          <h3>{t('Attempts')}</h3>
          <Chart
            label={t('Attempts: {succeeded} succeeded, {failed} failed', {
              succeeded: number(succeeded),
              failed: number(attempts - succeeded),
            })}
            times={times}
            series={[
              {
                name: t('Succeeded'),
                colour: '--good',
                values: points.map((one) => one.succeeded),
              },
              {
                name: t('Failed'),
                colour: '--bad',
                values: points.map((one) => one.attempts - one.succeeded),
              },
            ]}
          />
        </>
      )}
      {p50_ms !== null && p99_ms !== null && (
        <>
          <h3>{t('Time to the answer, in milliseconds')}</h3>
          <Chart
            label={t('Time to the answer: half within {p50}, 99 % within {p99}', {
              p50: duration(p50_ms),
              p99: duration(p99_ms),
            })}
            times={times}
            series={[
              { name: t('p50'), colour: '--accent', values: points.map((one) => one.p50_ms) },
              { name: t('p99'), colour: '--warn', values: points.map((one) => one.p99_ms) },
            ]}
          />
        </>
      )}
      {attempts > 0 && (
        <details>
          <summary>{t('As a table')}</summary>
          <Table
            label={t('Health')}
            columns={columnsOf(health.unit)}
            rows={points.filter((one) => one.attempts > 0).reverse()}
            keyOf={({ since }) => since}
          />
        </details>
      )}
      {failures.length > 0 && (
        <>
          <h3>{t('Last failed answers')}</h3>
          <Table
            label={t('Last failed answers')}
            columns={FAILURES}
            rows={failures}
            keyOf={({ delivery_id, attempt }) => `${delivery_id} ${attempt}`}
            to={({ delivery_id }) => `/webhooks/${id}/${delivery_id}${location.search}`}
          />
        </>
      )}
    </>
  )
}

function columnsOf(unit: WebhookHealth['unit']): Column<Point>[] {
  const textOf = unit === 'day' ? utcDay : exactTime
  const time = (ms: number | null) => (ms === null ? '–' : duration(ms))
  return [
    { name: t('From'), kind: 'main', value: ({ since }) => textOf(since) },
    { name: t('Succeeded'), kind: 'number', value: ({ succeeded }) => number(succeeded) },
    {
      name: t('Failed'),
      kind: 'number',
      value: ({ attempts, succeeded }) => number(attempts - succeeded),
    },
    { name: t('p50'), kind: 'number', value: ({ p50_ms }) => time(p50_ms) },
    { name: t('p99'), kind: 'number', value: ({ p99_ms }) => time(p99_ms) },
  ]
}

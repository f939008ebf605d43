import {
  Chart,
  Empty,
  ErrorBox,
  LinkButton,
  Loaded,
  Money,
  PageHead,
  Select,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { number } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { query, setQuery } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { FindingList, type Findings, FirstSteps } from './findings.tsx'

interface Point {
  since: string
  accepted: number
  delivered: number
  failed: number
}

const UNITS = [
  ['day', 'Last 30 days'],
  ['hour', 'Last 48 hours'],
] as const

/** Home has three requests, and a person may make 600 in a minute. */
const SUMS_MS = 5_000
const FINDINGS_MS = 20_000

const history = (unit: string, signal: AbortSignal) =>
  ownApi.get<{ points: Point[] }>('/history', { unit }, signal).then(({ points }) => points)

function Home({ mayOpen }: PageProps) {
  const unit = query.value.get('unit') === 'hour' ? 'hour' : 'day'
  const points = useLoad((signal) => history(unit, signal), [unit])
  const balance = useLoad((signal) => api.workspaces.balance({ signal }), [])
  const findings = useLoad((signal) => ownApi.get<Findings>('/findings', {}, signal), [])
  const reloadSums = () => {
    points.reload()
    balance.reload()
  }
  useLiveReload('message.', reloadSums, { every_ms: SUMS_MS })
  useLiveReload('message.failed', findings.reload, { every_ms: FINDINGS_MS })
  useLiveReload('credits.', findings.reload)
  const steps = findings.data?.steps
  return (
    <>
      <PageHead title="Home">
        <Select
          bare
          label="Period"
          value={unit}
          options={UNITS}
          onInput={(one) => setQuery({ unit: one === 'day' ? '' : one })}
        />
        {may('develop') && (
          <LinkButton icon="keys" to="/keys">
            API keys
          </LinkButton>
        )}
        {may('send') && (
          <LinkButton kind="primary" icon="compose" to="/compose">
            New message
          </LinkButton>
        )}
      </PageHead>
      {findings.error !== undefined && <ErrorBox error={findings.error} />}
      <FindingList findings={findings.data?.findings ?? []} mayOpen={mayOpen} />
      <Loaded of={points}>
        {(found) => (
          <div class="stack">
            <section class="cards">
              <Figure name="Accepted" value={sum(found, 'accepted')} />
              <Figure name="Delivered" value={sum(found, 'delivered')} />
              <Figure name="Failed or canceled" value={sum(found, 'failed')} />
              <div class="card">
                <h2>Balance</h2>
                {balance.error !== undefined && <ErrorBox error={balance.error} />}
                <p class="figure">
                  {balance.data ? <Money credits={balance.data.credits_balance} /> : '…'}
                </p>
              </div>
            </section>
            {steps ? <FirstSteps {...steps} /> : <Curve points={found} />}
          </div>
        )}
      </Loaded>
    </>
  )
}

function sum(points: readonly Point[], name: 'accepted' | 'delivered' | 'failed'): number {
  return points.reduce((total, point) => total + point[name], 0)
}

function Figure({ name, value }: { name: string; value: number }) {
  return (
    <div class="card">
      <h2>{name}</h2>
      <p class="figure">{number(value)}</p>
    </div>
  )
}

function Curve({ points }: { points: readonly Point[] }) {
  if (sum(points, 'accepted') === 0) {
    return (
      <Empty icon="messages" title="No messages in this period">
        <p>Send a message, and its way appears here.</p>
        {may('read') && <LinkButton to="/messages">Messages</LinkButton>}
      </Empty>
    )
  }
  return (
    <section class="card">
      <h2>Messages by the time of their creation</h2>
      <Chart
        label={`Messages: ${number(sum(points, 'accepted'))} accepted, ${number(sum(points, 'delivered'))} delivered, ${number(sum(points, 'failed'))} failed or canceled`}
        times={points.map(({ since }) => Date.parse(since) / 1000)}
        series={[
          { name: 'Accepted', colour: '--accent', values: points.map((one) => one.accepted) },
          { name: 'Delivered', colour: '--good', values: points.map((one) => one.delivered) },
          { name: 'Failed or canceled', colour: '--bad', values: points.map((one) => one.failed) },
        ]}
      />
    </section>
  )
}

export default { title: 'Home', Page: Home }

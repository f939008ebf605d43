import type { Broadcast, BroadcastResults } from '@svc/client'
import {
  Button,
  type Column,
  Copy,
  confirm,
  Facts,
  LinkButton,
  Loaded,
  Money,
  PageHead,
  Table,
  Time,
  toast,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { count, number } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { LOCALE, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { channelName } from '../messages/channels.ts'
import { Stopped } from '../messages/stopped.tsx'
import { BroadcastState, Departures, isOpen, Turns, titleOf, useProgress } from './state.tsx'

/** What a pause needs; absent: what the service says. */
const PAUSES: Partial<Record<NonNullable<Broadcast['pause']>['reason'], string>> = {
  requested: t(
    'Messages that wait are held too. Continue goes on with the next contact and sends them at their time, or at once if it is past; quiet hours hold.',
  ),
  insufficient_credits: t(
    'The credits or the limit of the day are used up. Buy credits or wait, then continue.',
  ),
  credential: t(
    'The API key or the member that sent it is not active any more. Continue sends it in your name.',
  ),
  forbidden: t('The workspace is frozen. Contact the operator of the service.'),
  restored: t(
    'The operator restored a backup: some contacts may have got their message already. Continue only if a second one does no harm.',
  ),
}

/** One broadcast: its progress, what became of its messages, and what can be done with it. */
export function OneBroadcast({ id }: { id: string }) {
  const load = useLoad((signal) => api.broadcasts.get(id, { signal }), [id])
  const { broadcast: one, results } = load.data ?? {}
  useProgress(load.reload, {
    isOpen: one ? isOpen(one) : false,
    messages: one?.counts.accepted ?? 0,
  })
  return (
    <>
      <PageHead
        title={one ? titleOf(one) : t('Broadcast')}
        text={one && <BroadcastState status={one.status} />}
      >
        <LinkButton icon="left" to="/broadcasts">
          {t('All broadcasts')}
        </LinkButton>
        {one && results && may('send') && (
          <Actions broadcast={one} queued={results.queued} onChange={load.reload} />
        )}
      </PageHead>
      <Loaded of={load}>
        {({ broadcast, results }) => (
          <div class="stack">
            {broadcast.pause && (
              <p class="mode-note" role="status">
                {t('Paused.')} {PAUSES[broadcast.pause.reason] ?? broadcast.pause.message}
              </p>
            )}
            {isOpen(broadcast) && <Stopped channel={broadcast.channel} />}
            <Results broadcast={broadcast} results={results} />
            <div class="columns">
              <Failures id={id} {...results} />
              <section class="card">
                <h2>{t('Broadcast')}</h2>
                <BroadcastFacts {...broadcast} />
              </section>
            </div>
          </div>
        )}
      </Loaded>
    </>
  )
}

function Results({ broadcast, results }: { broadcast: Broadcast; results: BroadcastResults }) {
  const { counts, credits_used, id } = broadcast
  const { queued, sent, delivered, read, failed, canceled, unsubscribed } = results
  const left = counts.suppressed + counts.no_address + counts.rejected
  const figures = [
    [t('Accepted'), counts.accepted, ''],
    [t('Waiting'), queued, 'queued'],
    [t('Sent'), sent, 'sent'],
    [t('Delivered'), delivered + read, 'delivered_or_read'],
    [t('Failed'), failed - canceled, 'failed_only'],
    [t('Canceled'), canceled, 'canceled'],
  ] as const
  return (
    <section class="card stack" aria-label={t('Results')}>
      {broadcast.started_at && <Turns {...broadcast} />}
      <dl class="cards">
        {figures.map(([name, n, status]) => (
          <div key={name}>
            <dt class="muted">{name}</dt>
            <dd class="figure">
              {n > 0 ? <a href={messagesOf(id, status)}>{number(n)}</a> : number(n)}
            </dd>
          </div>
        ))}
        <div>
          <dt class="muted">{t('Unsubscribed')}</dt>
          <dd class="figure">{number(unsubscribed)}</dd>
        </div>
      </dl>
      <Facts
        of={{
          [t('Processed')]: count(counts.contacts, 'contact'),
          [t('Got no message')]:
            left > 0 &&
            [
              counts.suppressed > 0 &&
                t('{suppressed} suppressed', { suppressed: number(counts.suppressed) }),
              counts.no_address > 0 &&
                t('{no_address} without an address', { no_address: number(counts.no_address) }),
              counts.rejected > 0 &&
                t('{rejected} rejected', { rejected: number(counts.rejected) }),
            ]
              .filter(Boolean)
              .join(', '),
          [t('Read by recipients')]: read > 0 && number(read),
          [t('Price')]: <Money credits={credits_used} />,
          [t('Refunded')]: results.credits_refunded > 0 && (
            <Money credits={results.credits_refunded} />
          ),
        }}
      />
    </section>
  )
}

/** The page of the messages of a broadcast with a status; empty: of all. */
function messagesOf(id: string, status: string): string {
  return hrefOf(`/messages?broadcast_id=${id}${status && `&status=${status}`}`)
}

const FAILURES: readonly Column<BroadcastResults['failures'][number]>[] = [
  {
    name: t('Reason'),
    kind: 'main',
    value: ({ error_code }) => (error_code ? wordOf(error_code) : t('Without a reason')),
  },
  { name: t('Messages'), kind: 'number', value: ({ count }) => number(count) },
]

function Failures({ id, failures }: BroadcastResults & { id: string }) {
  return (
    <section>
      <h2 class="section">{t('Why messages failed')}</h2>
      {failures.length === 0 ? (
        <p class="muted">{t('No message failed.')}</p>
      ) : (
        <>
          <Table
            label={t('Why messages failed')}
            columns={FAILURES}
            rows={failures}
            keyOf={({ error_code }) => `${error_code}`}
          />
          <p class="pager">
            <a href={messagesOf(id, 'failed_only')}>{t('Show the failed messages')}</a>
          </p>
        </>
      )}
    </section>
  )
}

const listed = (values: readonly unknown[] | undefined) => values?.length && values.join(', ')

/** The local time of recipients stands for itself, as if it were UTC. */
const LOCAL = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

function BroadcastFacts(one: Broadcast) {
  const { template, audience } = one
  const pairsOf = (attributes = {}) => Object.entries(attributes).map((each) => each.join(' = '))
  const without = [...(audience.exclude_tags ?? []), ...pairsOf(audience.exclude_attributes)]
  const time = (at: string | null) => at && <Time at={at} exact />
  return (
    <Facts
      of={{
        [t('Template')]: (
          <>
            <a href={hrefOf(`/templates/${template.name}`)}>{template.name}</a>
            {template.version !== null && (
              <small> {t('version {version}', { version: template.version })}</small>
            )}
          </>
        ),
        [t('Language')]: template.locale,
        [t('Channel')]: channelName(one.channel),
        [t('Sender')]: one.from,
        [t('Tags')]: listed(audience.tags) || t('all contacts'),
        [t('Without')]: listed(without) || null,
        [t('Attributes')]: listed(pairsOf(audience.attributes)) || null,
        [t('Values')]:
          listed(Object.entries(template.variables).map(([name, value]) => `${name}: ${value}`)) ||
          null,
        [t('Rate')]: one.rate && t('{rate} a minute', { rate: count(one.rate, 'message') }),
        [t('Created')]: time(one.created_at),
        [t('Scheduled')]:
          one.time_zone && one.scheduled_at
            ? t('{time}, on the clock of each recipient', {
                time: LOCAL.format(new Date(one.scheduled_at)),
              })
            : time(one.scheduled_at),
        [t('When')]: one.departures?.length ? (
          <Departures of={one.departures} since={one.started_at ?? one.created_at} />
        ) : null,
        [t('Started')]: time(one.started_at),
        [one.status === 'canceled' ? t('Canceled') : t('Finished')]: time(one.finished_at),
        [t('Id')]: <Copy value={one.id} />,
      }}
    />
  )
}

function Actions({
  broadcast,
  queued,
  onChange,
}: {
  broadcast: Broadcast
  /** The messages that wait. */
  queued: number
  onChange(): void
}) {
  const { id, status, pause, started_at } = broadcast
  // Its accepted messages are still sent.
  const isPausedByItself = pause !== null && !['requested', 'restored'].includes(pause.reason)
  async function change(verb: 'pause' | 'resume' | 'cancel', text: string) {
    await api.broadcasts[verb](id)
    toast(text)
    onChange()
  }
  async function resume() {
    const isConfirmed =
      pause?.reason !== 'restored' ||
      (await confirm({
        title: t('Continue the broadcast?'),
        text: PAUSES.restored,
        action: t('Continue'),
        danger: true,
      }))
    if (isConfirmed) await change('resume', t('The broadcast goes on.'))
  }
  async function cancel() {
    const isConfirmed = await confirm({
      title: t('Cancel the broadcast?'),
      text: t(
        'The other contacts get no message. Messages that wait are not sent, and their credits are returned. This cannot be undone.',
      ),
      action: t('Cancel the broadcast'),
      cancel: t('Back'),
      danger: true,
    })
    if (isConfirmed) await change('cancel', t('The broadcast was canceled.'))
  }
  return (
    <>
      {!started_at && status !== 'canceled' && (
        <LinkButton to={`/broadcasts/new?edit=${id}`}>{t('Edit')}</LinkButton>
      )}
      {(isOpen(broadcast) || (queued > 0 && (status === 'finished' || isPausedByItself))) && (
        <Button onClick={() => change('pause', t('The broadcast is paused.'))}>
          {isOpen(broadcast) ? t('Pause') : t('Hold waiting messages')}
        </Button>
      )}
      {(status === 'paused' || status === 'draft') && (
        <Button kind="primary" onClick={resume}>
          {status === 'draft' ? t('Start') : t('Continue')}
        </Button>
      )}
      {(status === 'finished' ? queued > 0 : status !== 'canceled') && (
        <Button kind="danger" onClick={cancel}>
          {status === 'finished' ? t('Cancel waiting messages') : t('Cancel broadcast')}
        </Button>
      )}
    </>
  )
}

import type { MessagesTimelineData } from '@svc/client'
import { useState } from 'preact/hooks'
import { Loaded, Money, StatusBadge } from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { clockTime, count, credits, duration, exactTime, preciseTime } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { hrefOf } from '../../shell/router.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { answerText } from '../webhooks/answer.ts'
import { statusOf } from './schedule.ts'

type Entry = MessagesTimelineData['timeline'][number]

/** The history of a message. Each entry has its distance to the one before; the exact time is in its title. */
export function Timeline({ entries }: { entries: readonly Entry[] }) {
  const hasWebhooks = entries.some(({ kind }) => kind === 'webhook')
  const names = useLoad((signal) => (hasWebhooks ? webhookNames(signal) : NO_NAMES), [hasWebhooks])
  return (
    <ol class="timeline">
      {entries.map((entry, i) => (
        <li key={i} class={entry.kind}>
          <time dateTime={entry.at} title={preciseTime(entry.at)}>
            {gapOf(entry, entries[i - 1])}
          </time>
          <div>{textOf(entry, names.data)}</div>
        </li>
      ))}
    </ol>
  )
}

function gapOf({ at }: Entry, before: Entry | undefined): string {
  if (!before) return clockTime(at)
  return `+${duration(Math.max(0, Date.parse(at) - Date.parse(before.at)))}`
}

const NO_NAMES = Promise.resolve(new Map<string, string>())

/** The webhooks that are named: a workspace rarely has more. */
const NAMED_MAX = 100

/** The descriptions of webhooks, or their addresses without one, by their id. */
async function webhookNames(signal: AbortSignal): Promise<Map<string, string>> {
  const { webhooks } = await api.webhooks.list({ limit: NAMED_MAX }, { signal })
  return new Map(webhooks.map(({ id, url, description }) => [id, description || url]))
}

function textOf(entry: Entry, names?: ReadonlyMap<string, string>) {
  switch (entry.kind) {
    case 'status':
      return (
        <>
          <StatusBadge status={statusOf(entry)} />{' '}
          {!entry.applied && <small>{t('changed nothing')}</small>} {faultOf(entry)}
        </>
      )
    case 'provider':
      return (
        <>
          {t('Attempt {attempt} with {provider}: {outcome}', {
            attempt: entry.attempt,
            provider: entry.provider,
            outcome: wordOf(entry.outcome),
          })}{' '}
          {entry.finished_at && (
            <small>
              {t('in {duration}', {
                duration: duration(Date.parse(entry.finished_at) - Date.parse(entry.at)),
              })}
            </small>
          )}{' '}
          {faultOf(entry)}
        </>
      )
    case 'ledger':
      return (
        <>
          {wordOf(entry.type)} <Money credits={entry.credits} signed />{' '}
          <small>
            {rich('balance {balance_after}', { balance_after: credits(entry.balance_after) })}
          </small>
        </>
      )
    case 'webhook':
      return (
        <>
          <a href={hrefOf(`/webhooks/${entry.webhook_id}/${entry.delivery_id}`)}>
            <bdi>{names?.get(entry.webhook_id) ?? t('Webhook')}</bdi>
          </a>{' '}
          {entry.event} <StatusBadge status={entry.status} />{' '}
          <small>
            {[answerText(entry), entry.attempt_count > 1 && count(entry.attempt_count, 'attempt')]
              .filter(Boolean)
              .join(', ')}
          </small>
          <DeliveryDetails
            webhookId={entry.webhook_id}
            id={entry.delivery_id}
            version={entry.attempt_count}
          />
        </>
      )
  }
}

function faultOf({
  error_code,
  error_message,
}: {
  error_code: string | null
  error_message: string | null
}) {
  // The new time of a reschedule is in the text.
  const text = (error_message ?? error_code)?.replace(/[\dT:.-]+Z$/, exactTime)
  const isPlanned = /^(canceled|rescheduled|quiet_hours)$/.test(error_code ?? '')
  return text && <span class={isPlanned ? '' : 'bad'}>{text}</span>
}

/** The requests of a delivery and their answers, loaded when they are shown first. `version`: changes with the delivery. */
function DeliveryDetails({
  webhookId,
  id,
  version,
}: {
  webhookId: string
  id: string
  version: number
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t('Requests')}</summary>
      {isOpen && <Shown key={version} webhookId={webhookId} id={id} />}
    </details>
  )
}

function Shown({ webhookId, id }: { webhookId: string; id: string }) {
  const load = useLoad(
    async (signal) => {
      // Few people open the requests of a delivery, so the first script does not have them.
      const [{ Requests }, { delivery }] = await Promise.all([
        import('../member.ts'),
        api.webhooks.delivery(webhookId, id, { signal }),
      ])
      return { Requests, delivery }
    },
    [id],
  )
  return (
    <Loaded of={load}>
      {({ Requests, delivery }) => (
        <div class="stack">
          <Requests delivery={delivery} />
        </div>
      )}
    </Loaded>
  )
}

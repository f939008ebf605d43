import type { Delivery, DeliveryWithAttempts } from '@svc/client'
import {
  Badge,
  Button,
  Copy,
  Drawer,
  Facts,
  Loaded,
  StatusBadge,
  Time,
  toast,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { duration } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { answerText } from './answer.ts'
import { usePendingReload } from './pending.ts'

interface SentRequest {
  number: number
  headers: { name: string; value: string | null }[]
  body: string
}

/** When a delivery is attempted next, and why not now. */
export function NextAttempt({ next_attempt_at: at, next_attempt_reason, status }: Delivery) {
  if (status !== 'pending') return null
  if (!at || Date.parse(at) <= Date.now()) return <>{t('now')}</>
  const isAway = next_attempt_reason === 'receiver_unavailable'
  return (
    <span>
      <Time at={at} />
      {isAway && <small> {t('the receiver is unavailable')}</small>}
    </span>
  )
}

/** A delivery with the request and the answer of each attempt. */
export function DeliveryDrawer({
  webhookId,
  id,
  isActive,
  onChange,
  onClose,
}: {
  webhookId: string
  id: string
  /** Whether the webhook is enabled: a disabled one takes nothing but test events. */
  isActive: boolean
  onChange(): void
  onClose(): void
}) {
  const load = useLoad((signal) => api.webhooks.delivery(webhookId, id, { signal }), [id])
  usePendingReload(load.data, load.data && [load.data.delivery], load.reload)
  async function replay() {
    await api.webhooks.retry(webhookId, id)
    toast(t('The delivery is attempted now.'))
    load.reload()
    onChange()
  }
  return (
    <Drawer
      title={t('Delivery')}
      onClose={onClose}
      actions={
        isActive &&
        may('develop') && (
          <Button onClick={replay}>
            {load.data?.delivery.status === 'pending' ? t('Try now') : t('Replay')}
          </Button>
        )
      }
    >
      <Loaded of={load}>
        {({ delivery }) => (
          <div class="stack">
            <Facts
              of={{
                [t('Event')]: delivery.event,
                [t('Status')]: <StatusBadge status={delivery.status} />,
                [t('Message')]: delivery.message_id && (
                  <a href={hrefOf(`/messages/${delivery.message_id}`)}>{delivery.message_id}</a>
                ),
                [t('Next attempt')]:
                  delivery.status === 'pending' ? <NextAttempt {...delivery} /> : null,
                [t('Created')]: <Time at={delivery.created_at} exact />,
                [t('Id')]: <Copy value={delivery.id} />,
              }}
            />
            <Requests delivery={delivery} />
          </div>
        )}
      </Loaded>
    </Drawer>
  )
}

/** The attempts of a delivery with their answers, newest first, the headers of each, and the body. */
export function Requests({ delivery }: { delivery: DeliveryWithAttempts }) {
  const { id, webhook_id, attempt_count } = delivery
  const sent = useLoad(
    async (signal) => {
      if (attempt_count === 0 || !may('develop')) return []
      const path = `/webhooks/${webhook_id}/deliveries/${id}/requests`
      return (await ownApi.get<{ requests: SentRequest[] }>(path, {}, signal)).requests
    },
    [id, attempt_count],
  )
  return (
    <>
      {delivery.attempts.toReversed().map((attempt) => (
        <Attempt
          key={attempt.number}
          attempt={attempt}
          request={sent.data?.find(({ number }) => number === attempt.number)}
        />
      ))}
      <section>
        <h3>
          {t('Body')}{' '}
          {sent.data?.[0] && (
            <Copy value={sent.data[0].body} text="" label={t('Copy the raw body')} />
          )}
        </h3>
        <pre>{JSON.stringify(delivery.payload, null, 2)}</pre>
      </section>
    </>
  )
}

function Attempt({
  attempt,
  request,
}: {
  attempt: DeliveryWithAttempts['attempts'][number]
  request: SentRequest | undefined
}) {
  const { number, started_at, duration_ms, response_status: status, response_body } = attempt
  const isGood = status !== null && status >= 200 && status < 300
  return (
    <section class="card">
      <h2>
        {t('Attempt {number}', { number })} · <Time at={started_at} exact /> ·{' '}
        {duration(duration_ms)} <Badge tone={isGood ? 'good' : 'bad'}>{answerText(attempt)}</Badge>
      </h2>
      {response_body ? (
        <pre>{response_body}</pre>
      ) : (
        status !== null && <p class="muted">{t('No body in the answer')}</p>
      )}
      {request && (
        <details>
          <summary>{t('Headers of the request')}</summary>
          <pre>
            {request.headers
              .map(({ name, value }) => `${name}: ${value ?? t('(not shown)')}`)
              .join('\n')}
          </pre>
          <p class="muted">
            {rich(
              'Signed with the current secret. {code} is the HMAC-SHA256 of the raw body with the whole secret, in hex. Verify it before you parse the body.',
              { code: <code>X-Svc-Signature</code> },
            )}
          </p>
        </details>
      )}
    </section>
  )
}

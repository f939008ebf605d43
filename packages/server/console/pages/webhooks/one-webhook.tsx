import type { Delivery, Webhook } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  type Column,
  Copy,
  confirm,
  Empty,
  Facts,
  FormDialog,
  ListPage,
  Loaded,
  PageHead,
  SecretDialog,
  Select,
  StatusBadge,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { count, exactTime } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { go, query, setQuery } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { inputTime, instantOf } from '../../shell/time-zone.ts'
import { wordOf } from '../../shell/words.ts'
import { answerText } from './answer.ts'
import { DeliveryDrawer, NextAttempt } from './delivery.tsx'
import { Health, useHealth } from './health.tsx'
import { usePendingReload } from './pending.ts'
import { WebhookForm } from './webhook-form.tsx'

/** Why a webhook is disabled, and what follows from it. */
const REASONS: Record<string, string> = {
  gone: t('The receiver answered 410 Gone.'),
  failing: t('No delivery succeeded for five days.'),
  manual: t('A member of the workspace disabled it.'),
  email_verified: t('It was added before the e-mail address of the workspace was verified.'),
  password_reset: t('It was added before the password of the owner was reset.'),
  key_deactivated: t('The API key that signs it was deactivated.'),
  secret_lost: t('Its secret cannot be read after the keys of the service changed.'),
}

const STATUSES = [
  ['', t('All deliveries')],
  ['pending', t('Pending')],
  ['delivered', t('Delivered')],
  ['failed', t('Failed')],
  ['discarded', t('Discarded')],
] as const

const TONES = { active: 'good', failing: 'bad', disabled: 'warn' } as const

/** The state of a webhook. */
export function WebhookState({ status }: Pick<Webhook, 'status'>) {
  return <Badge tone={TONES[status]}>{wordOf(status)}</Badge>
}

/** The events of a webhook in words. */
export function eventsText(events: Webhook['events']): string {
  return events.includes('*') ? t('all events') : events.join(', ')
}

const COLUMNS: readonly Column<Delivery>[] = [
  { name: t('Event'), kind: 'main', value: ({ event }) => event },
  { name: t('Status'), value: ({ status }) => <StatusBadge status={status} /> },
  { name: t('Answer'), value: answerText },
  {
    name: t('Attempts'),
    kind: 'number',
    value: (one) =>
      t('{attempt_count} of {max_attempts}', {
        attempt_count: one.attempt_count,
        max_attempts: one.max_attempts,
      }),
  },
  { name: t('Next attempt'), value: (one) => <NextAttempt {...one} /> },
  { name: t('Created'), value: ({ created_at }) => <Time at={created_at} /> },
]

/** One webhook: its state, and its deliveries. */
export function OneWebhook({ id, deliveryId }: { id: string; deliveryId: string | undefined }) {
  const status = query.value.get('status') ?? ''
  const after = query.value.get('after') ?? undefined
  const webhook = useLoad((signal) => api.webhooks.get(id, { signal }), [id])
  const deliveries = useLoad(
    (signal) => {
      const filter = { ...(status && { status: status as 'pending' }), after, limit: 25 }
      return api.webhooks.deliveries(id, filter, { signal })
    },
    [id, status, after],
  )
  const health = useHealth(id)
  function reload() {
    webhook.reload()
    health.reload()
    deliveries.reload()
  }
  useLiveReload('', reload)
  usePendingReload(deliveries.data, deliveries.data?.deliveries, reload)
  const { search } = location
  return (
    <div class="stack">
      <Loaded of={webhook}>
        {({ webhook: found }) => <Head webhook={found} load={webhook} onChange={reload} />}
      </Loaded>
      <Health id={id} load={health} />
      <div class="actions">
        <Select
          bare
          label={t('Status')}
          value={status}
          options={STATUSES}
          onInput={(one) => setQuery({ status: one }, { to: `/webhooks/${id}` })}
        />
      </div>
      <ListPage
        of={deliveries}
        rowsOf={(answer) => answer.deliveries}
        label={t('Deliveries')}
        columns={COLUMNS}
        keyOf={(one) => one.id}
        to={(one) => `/webhooks/${id}/${one.id}${search}`}
        current={deliveryId}
        noun="delivery"
        plural="deliveries"
        empty={
          <Empty icon="webhooks" title={t('No deliveries')}>
            {!status && (
              <p>
                {t('Events for this webhook appear here. A test event shows whether it works.')}
              </p>
            )}
          </Empty>
        }
      />
      {deliveryId && (
        <DeliveryDrawer
          webhookId={id}
          id={deliveryId}
          isActive={webhook.data?.webhook.is_active ?? false}
          onChange={reload}
          onClose={() => go(`/webhooks/${id}${search}`)}
        />
      )}
    </div>
  )
}

type Opened = 'edit' | 'recover' | null

function Head({
  webhook,
  load,
  onChange,
}: {
  webhook: Webhook
  load: Load<{ webhook: Webhook }>
  onChange(): void
}) {
  const { id } = webhook
  const [opened, setOpened] = useState<Opened>(null)
  const [secret, setSecret] = useState<{ text: string; ends_at: string } | null>(null)
  async function test() {
    const { delivery } = await api.webhooks.test(id)
    if (!webhook.is_active) {
      toast(
        t('The webhook is disabled: it gets this test event, and no others until you enable it.'),
      )
    }
    onChange()
    go(`/webhooks/${id}/${delivery.id}`)
  }
  async function rotate() {
    const isSure = await confirm({
      title: t('Replace the secret?'),
      text: t(
        'The old secret stays valid for 24 hours, so that your server can change to the new one.',
      ),
      action: t('Replace secret'),
    })
    if (!isSure) return
    const { webhook: rotated } = await api.webhooks.rotateSecret(id)
    setSecret({ text: rotated.secret, ends_at: rotated.previous_secret_ends_at })
    onChange()
  }
  async function enable() {
    load.set(await api.webhooks.enable(id))
    toast(t('The webhook is enabled. Missed deliveries can be recovered.'))
    onChange()
  }
  async function remove() {
    const isSure = await confirm({
      title: t('Delete the webhook?'),
      text: t('{url} gets no more events, and its pending deliveries end.', { url: webhook.url }),
      action: t('Delete webhook'),
      danger: true,
    })
    if (!isSure) return
    await api.webhooks.delete(id)
    go('/webhooks')
  }
  const events = webhook.events
  return (
    <>
      <PageHead title={webhook.url} text={webhook.description}>
        {may('develop') && (
          <>
            <Button kind="primary" onClick={test}>
              {t('Send test event')}
            </Button>
            <Button onClick={() => setOpened('edit')}>{t('Edit')}</Button>
            {webhook.api_key_id === null && <Button onClick={rotate}>{t('Replace secret')}</Button>}
            {webhook.is_active && (
              <Button onClick={() => setOpened('recover')}>{t('Recover')}</Button>
            )}
            <Button kind="danger" icon="trash" label={t('Delete webhook')} onClick={remove} />
          </>
        )}
      </PageHead>
      {!webhook.is_active && (
        <div class="notice">
          <p>
            <strong>{t('Disabled.')}</strong>{' '}
            {REASONS[webhook.disabled_reason ?? ''] ?? webhook.disabled_reason}{' '}
            {t(
              '“Recover” sends what failed before again; events while it is disabled are not sent.',
            )}
          </p>
          {may('develop') && <Button onClick={enable}>{t('Enable')}</Button>}
        </div>
      )}
      <section class="card">
        <Facts
          of={{
            [t('State')]: <WebhookState {...webhook} />,
            [t('Events')]: eventsText(events),
            [t('Messages')]: webhook.mode === 'all' ? t('live and test') : wordOf(webhook.mode),
            [t('Format')]: webhook.format === 'svc' ? null : webhook.format,
            [t('Own headers')]: webhook.headers.join(', ') || null,
            [t('Secret')]: webhook.api_key_id ? (
              t('an API key signs')
            ) : (
              <code>{webhook.secret_prefix}</code>
            ),
            [t('Failures in a row')]: webhook.consecutive_failures || null,
            [t('Last success')]: webhook.last_success_at ? (
              <Time at={webhook.last_success_at} />
            ) : (
              t('never')
            ),
            [t('Last failure')]: webhook.last_failure_at && <Time at={webhook.last_failure_at} />,
            [t('Id')]: <Copy value={id} />,
          }}
        />
      </section>
      {opened === 'edit' && (
        <WebhookForm
          webhook={webhook}
          onClose={() => setOpened(null)}
          onSaved={() => {
            setOpened(null)
            onChange()
          }}
        />
      )}
      {opened === 'recover' && (
        <Recover
          webhook={webhook}
          onClose={() => setOpened(null)}
          onDone={() => {
            setOpened(null)
            onChange()
          }}
        />
      )}
      {secret && (
        <SecretDialog
          title={t('New signing secret')}
          secret={secret.text}
          onClose={() => setSecret(null)}
        >
          <p class="muted">
            {rich('The old secret is valid until {ends_at}.', {
              ends_at: exactTime(secret.ends_at),
            })}
          </p>
        </SecretDialog>
      )}
    </>
  )
}

/** A day less than the API allows, because the dialog stays open for a time. */
const RECOVER_MS = 29 * 86_400_000

/** Pages of one delivery: behind this one, the oldest is not looked up. */
const OLDEST_PAGE_MAX = 10_000

/** The number of failed and discarded deliveries, and when the oldest was made; null if it is not known. */
async function lostOf(id: string, signal: AbortSignal) {
  const found = await Promise.all(
    (['failed', 'discarded'] as const).map(async (status) => {
      const list = (page: number) =>
        api.webhooks.deliveries(id, { status, page, limit: 1 }, { signal })
      const { pagination, deliveries } = await list(1)
      const n = pagination.total
      if (n <= 1) return { n, oldest: deliveries[0] }
      return { n, oldest: n > OLDEST_PAGE_MAX ? undefined : (await list(n)).deliveries[0] }
    }),
  )
  const isKnown = found.every(({ n, oldest }) => n === 0 || oldest)
  const times = found.flatMap(({ oldest }) => (oldest ? [Date.parse(oldest.created_at)] : []))
  return {
    n: found.reduce((sum, { n }) => sum + n, 0),
    oldest_ms: isKnown && times.length > 0 ? Math.min(...times) : null,
  }
}

function Recover({
  webhook: { id },
  onDone,
  onClose,
}: {
  webhook: Webhook
  onDone(): void
  onClose(): void
}) {
  // The last success says nothing about what is missing: after a repair, a test or the next event succeeds.
  const lost = useLoad((signal) => lostOf(id, signal), [id])
  const [earliest_ms] = useState(() => Date.now() - RECOVER_MS)
  const [typed, setSince] = useState<string>()
  const since = typed ?? inputTime(Math.max(lost.data?.oldest_ms ?? earliest_ms, earliest_ms))
  const [until, setUntil] = useState('')
  async function recover() {
    const until_at = (until ? instantOf(until) : new Date()).toISOString()
    const window = { since: instantOf(since).toISOString(), until: until_at }
    let total = 0
    for (let hasMore = true; hasMore; ) {
      const { recovered, has_more } = await api.webhooks.recover(id, window)
      total += recovered
      hasMore = has_more
    }
    if (total > 0)
      toast(t('{total} queued again', { total: count(total, 'delivery', 'deliveries') }))
    else toast(t('No delivery of this period failed or was discarded.'), 'plain')
    onDone()
  }
  return (
    <FormDialog
      title={t('Recover deliveries')}
      action={t('Recover')}
      onSubmit={recover}
      onClose={onClose}
    >
      {() => (
        <>
          <p>
            {t(
              'Sends failed and discarded deliveries of a period again, at most 30 days back. Pending ones are tried again in any case.',
            )}
          </p>
          <p role="status">
            {lost.data &&
              t('Failed or discarded, of all periods: {deliveries}', {
                deliveries: count(lost.data.n, 'delivery', 'deliveries'),
              })}
          </p>
          <TextInput
            label={t('From')}
            type="datetime-local"
            required
            value={since}
            onInput={setSince}
          />
          <TextInput
            label={t('Until')}
            type="datetime-local"
            hint={t('Empty: now')}
            value={until}
            onInput={setUntil}
          />
        </>
      )}
    </FormDialog>
  )
}

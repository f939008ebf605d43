import type { Message } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  Copy,
  confirm,
  copyText,
  Drawer,
  Facts,
  FormDialog,
  LinkButton,
  Loaded,
  Money,
  StatusBadge,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { inputTime, instantOf, timeZone } from '../../shell/time-zone.ts'
import { wordOf } from '../../shell/words.ts'
import { usePendingReload } from '../webhooks/pending.ts'
import { channelName } from './channels.ts'
import { type AnyContent, Content } from './content.tsx'
import { isInDoubt, statusOf } from './schedule.ts'
import { Stopped } from './stopped.tsx'
import { Timeline } from './timeline.tsx'

/** The few changes of one message are shown soon after each other. */
const DRAWER_RELOAD_MS = 400

/** Everything about one message, and what can be done with it. `onChange`: after a change that no event reports. */
export function MessageDrawer({
  id,
  onChange,
  onClose,
}: {
  id: string
  onChange(): void
  onClose(): void
}) {
  const load = useLoad(
    async (signal) => {
      const [{ message }, { timeline }] = await Promise.all([
        api.messages.get(id, { signal }),
        api.messages.timeline(id, { signal }),
      ])
      return { message, timeline }
    },
    [id],
  )
  useLiveReload('message.', load.reload, {
    isAbout: ({ data }) => data.message_id === id,
    every_ms: DRAWER_RELOAD_MS,
  })
  const deliveries = load.data?.timeline.filter((entry) => entry.kind === 'webhook')
  usePendingReload(load.data, deliveries, load.reload)
  const changed = () => {
    load.reload()
    onChange()
  }
  const message = load.data?.message
  const contact = useLoad((signal) => contactOf(id, signal), [id])
  const isOpen = message ? isInDoubt(message.status, load.data?.timeline ?? []) : false
  return (
    <Drawer
      title={
        message
          ? t('{channel} to {recipient}', {
              channel: channelName(message.channel),
              recipient: contact.data?.name ?? message.recipient,
            })
          : t('Message')
      }
      actions={message && <Actions message={message} isInDoubt={isOpen} onChange={changed} />}
      onClose={onClose}
    >
      <Loaded of={load}>
        {({ message, timeline }) => (
          <div class="stack">
            {isOpen && (
              <p class="mode-note">
                {rich(
                  'It is unknown whether {provider} has the message. It is sent again only if the provider ignores repetitions, or says that it does not have the message. Without a report of the provider it fails as {code}.',
                  { provider: message.provider, code: <code>outcome_unknown</code> },
                )}
              </p>
            )}
            {message.status === 'queued' && <Stopped channel={message.channel} isQueued />}
            {message.status === 'queued' && message.bulk_id && <PausedBulk id={message.bulk_id} />}
            <MessageFacts message={message} contact={contact.data ?? null} />
            <section>
              <h3>{t('Content')}</h3>
              <Content {...message} />
            </section>
            <section>
              <h3>{t('Timeline')}</h3>
              <Timeline entries={timeline} />
            </section>
          </div>
        )}
      </Loaded>
    </Drawer>
  )
}

/** Says that the bulk of a queued message is paused, or its broadcast, and leads to it. */
function PausedBulk({ id }: { id: string }) {
  const { data } = useLoad(
    async (signal) => {
      const { bulk } = await api.bulks.get(id, { signal })
      const { name, paused_at, broadcast_id } = bulk
      if (!broadcast_id) return paused_at && { name, to: `/bulks/${id}` }
      const { broadcast } = await api.broadcasts.get(broadcast_id, { signal })
      // Messages of a broadcast that paused itself are still sent.
      const isHeld = ['requested', 'restored'].includes(broadcast.pause?.reason ?? '')
      return isHeld && { name: broadcast.name, to: `/broadcasts/${broadcast_id}` }
    },
    [id],
  )
  return data ? (
    <p class="mode-note" role="status">
      <a href={hrefOf(data.to)}>
        <bdi>{data.name ?? t('Bulk')}</bdi>
      </a>
      : {wordOf('paused')}. {t('It is sent when the pause ends, or can be canceled.')}
    </p>
  ) : null
}

interface NamedContact {
  id: string
  name: string | null
}

/** The contact that has the recipient's address; null for none. */
async function contactOf(id: string, signal: AbortSignal): Promise<NamedContact | null> {
  const query = { search: id, limit: '1' }
  const { messages } = await ownApi.get<{ messages: { contact: NamedContact | null }[] }>(
    '/messages',
    query,
    signal,
  )
  return messages[0]?.contact ?? null
}

const timeOf = (at: string | null) => at && <Time at={at} exact />

function MessageFacts({ message, contact }: { message: Message; contact: NamedContact | null }) {
  const { recipients, metadata, bulk_id, segments, error_code, error_message } = message
  const text = error_message ?? error_code
  const isCanceled = statusOf(message) === 'canceled'
  return (
    <Facts
      of={{
        [t('Status')]: (
          <>
            <StatusBadge status={statusOf(message)} />
            {!message.livemode && <Badge tone="warn">{t('test')}</Badge>}
          </>
        ),
        [t('Reason')]: isCanceled && text,
        [t('Error')]: !isCanceled && text && (
          <span class="bad">
            {text} {error_code && error_code !== text && <code>{error_code}</code>}
            {error_code && (
              <a
                class="line"
                href={hrefOf(`/messages?error_code=${encodeURIComponent(error_code)}`)}
              >
                {t('All messages with this error')}
              </a>
            )}
          </span>
        ),
        [t('Contact')]: contact && (
          <a href={hrefOf(`/people/${contact.id}`)}>{message.recipient}</a>
        ),
        [t('Id')]: <Copy value={message.id} />,
        [t('Sender')]: message.sender,
        [t('Recipients')]: recipients?.map(({ address, role, status, error_code }) => (
          <div key={address}>
            {address} {role !== 'to' && <small>{role}</small>} <StatusBadge status={status} />{' '}
            {error_code && <small>{error_code}</small>}
          </div>
        )),
        [t('Price')]: (
          <>
            <Money credits={message.credits_used} />
            {message.credits_refunded > 0 && (
              <>
                ,{' '}
                {rich('{money} refunded', { money: <Money credits={message.credits_refunded} /> })}
              </>
            )}
          </>
        ),
        [t('Segments')]: segments && `${segments}, ${message.encoding}`,
        [t('Provider')]: message.provider,
        [t("Provider's id")]: message.provider_message_id && (
          <Copy value={message.provider_message_id} />
        ),
        [t('Created')]: timeOf(message.created_at),
        [t('Scheduled')]: message.deferred_until ? null : timeOf(message.scheduled_at),
        [t('Quiet hours until')]: message.deferred_until && timeOf(message.deferred_until),
        [t('Expires')]: timeOf(message.expires_at),
        [t('Sent')]: timeOf(message.sent_at),
        [t('Delivered')]: timeOf(message.delivered_at),
        [t('Read')]: timeOf(message.read_at),
        [isCanceled ? t('Canceled') : t('Failed')]: timeOf(message.failed_at),
        [t('Erased')]: timeOf(message.erased_at),
        [t('Bulk')]: bulk_id && <a href={hrefOf(`/bulks/${bulk_id}`)}>{bulk_id}</a>,
        [t('Metadata')]: Object.keys(metadata).length > 0 && (
          <pre>{JSON.stringify(metadata, null, 2)}</pre>
        ),
      }}
    />
  )
}

function Actions({
  message,
  isInDoubt,
  onChange,
}: {
  message: Message
  isInDoubt: boolean
  onChange(): void
}) {
  const { id, status, channel, content, erased_at } = message
  const [isMoving, setMoving] = useState(false)
  const isQueued = status === 'queued'
  const isEmpty = erased_at !== null || Object.keys(content).length === 0
  async function cancel() {
    const text = t('It is not sent, and its credits are returned.')
    const question = {
      ...{ title: t('Cancel this message?'), text, action: t('Cancel message'), danger: true },
      cancel: t('Keep it'),
    }
    if (!(await confirm(question))) return
    await api.messages.cancel(id)
    toast(t('The message was canceled.'))
    onChange()
  }
  async function remove(what: 'redact' | 'erase') {
    const question = {
      redact: {
        title: t('Remove the content?'),
        text: t('Recipient, status and metadata stay. This cannot be undone.'),
        action: t('Remove content'),
      },
      erase: {
        title: t('Erase this message?'),
        text: t(
          'Recipient, content and metadata are removed, also from stored events. Status and price stay. This cannot be undone.',
        ),
        action: t('Erase'),
      },
    }[what]
    if (!(await confirm({ ...question, danger: true }))) return
    await api.messages[what](id)
    toast(what === 'erase' ? t('The message was erased.') : t('The content was removed.'))
    onChange()
  }
  return (
    <>
      {!isEmpty && (
        <Button
          icon="copy"
          onClick={async () => {
            await copyText(curlOf(message))
            const { attachments } = content as AnyContent
            toast(attachments ? t('Copied, without the attachments.') : t('Copied as curl.'))
          }}
        >
          {t('Copy as curl')}
        </Button>
      )}
      {may('send') && (
        <>
          {!isQueued && !isEmpty && (
            <Button onClick={() => remove('redact')}>{t('Remove content')}</Button>
          )}
          {!isQueued && erased_at === null && (
            <Button kind="danger" onClick={() => remove('erase')}>
              {t('Erase')}
            </Button>
          )}
          {isQueued && !isInDoubt && channel !== 'voice' && (
            <Button onClick={() => setMoving(true)}>{t('Reschedule')}</Button>
          )}
          {isQueued && !isInDoubt && (
            <Button kind="danger" onClick={cancel}>
              {t('Cancel message')}
            </Button>
          )}
          {!isQueued && !isEmpty && (
            <LinkButton icon="compose" to={`/compose?from=${id}`}>
              {t('Send again')}
            </LinkButton>
          )}
        </>
      )}
      {isMoving && (
        <Reschedule message={message} onDone={onChange} onClose={() => setMoving(false)} />
      )}
    </>
  )
}

function Reschedule({
  message,
  onDone,
  onClose,
}: {
  message: Message
  onDone(): void
  onClose(): void
}) {
  const [at, setAt] = useState(inputTime(message.scheduled_at ?? new Date()))
  async function save() {
    await api.messages.reschedule(message.id, { scheduled_at: instantOf(at).toISOString() })
    toast(t('The message has a new time.'))
    onDone()
    onClose()
  }
  return (
    <FormDialog title={t('Reschedule')} action={t('Save')} onSubmit={save} onClose={onClose}>
      {(error) => (
        <TextInput
          label={t('Send at')}
          type="datetime-local"
          required
          autofocus
          hint={t('In your time zone, {timeZone}. A past time means now.', {
            timeZone: timeZone(),
          })}
          error={fieldError(error, 'scheduled_at')}
          value={at}
          onInput={setAt}
        />
      )}
    </FormDialog>
  )
}

/** The body of a request that would send the same message again. Records have no attachments, only their sizes. */
function bodyOf(message: Message): Record<string, unknown> {
  const { channel, recipient, recipients, sender, metadata } = message
  const { attachments: _, ...content } = message.content as AnyContent
  const to = recipients?.filter(({ role }) => role === 'to').map(({ address }) => address)
  return {
    to: to && to.length > 1 ? to : recipient,
    channel,
    ...(sender && { from: sender }),
    content,
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** The command that sends the same message. Its key comes from the environment, so that no key is copied. */
function curlOf(message: Message): string {
  const json = JSON.stringify(bodyOf(message), null, 2)
  return [
    'curl -X POST "$SVC_URL/api/v1/messages/send"',
    '-H "X-API-Key: $SVC_API_KEY"',
    "-H 'Content-Type: application/json'",
    `-d '${json.replaceAll("'", "'\\''")}'`,
  ].join(' \\\n  ')
}

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
import { hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { usePendingReload } from '../webhooks/pending.ts'
import { channelName } from './channels.ts'
import { type AnyContent, Content } from './content.tsx'
import { inputTime, isInDoubt, statusOf, timeZone } from './schedule.ts'
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
  const isOpen = message ? isInDoubt(message.status, load.data?.timeline ?? []) : false
  return (
    <Drawer
      title={message ? `${channelName(message.channel)} to ${message.recipient}` : 'Message'}
      actions={message && <Actions message={message} isInDoubt={isOpen} onChange={changed} />}
      onClose={onClose}
    >
      <Loaded of={load}>
        {({ message, timeline }) => (
          <div class="stack">
            {isOpen && (
              <p class="mode-note">
                It is unknown whether {message.provider} has the message. It is sent again only if
                the provider ignores repetitions, or says that it does not have the message. Without
                a report of the provider it fails as <code>outcome_unknown</code>.
              </p>
            )}
            {message.status === 'queued' && <Stopped channel={message.channel} isQueued />}
            <MessageFacts message={message} />
            <section>
              <h3>Content</h3>
              <Content {...message} />
            </section>
            <section>
              <h3>Timeline</h3>
              <Timeline entries={timeline} />
            </section>
          </div>
        )}
      </Loaded>
    </Drawer>
  )
}

const timeOf = (at: string | null) => at && <Time at={at} exact />

function MessageFacts({ message }: { message: Message }) {
  const { recipients, metadata, bulk_id, segments, error_code, error_message } = message
  const text = error_message ?? error_code
  const isCanceled = statusOf(message) === 'canceled'
  return (
    <Facts
      of={{
        Status: (
          <>
            <StatusBadge status={statusOf(message)} />
            {!message.livemode && <Badge tone="warn">test</Badge>}
          </>
        ),
        Reason: isCanceled && text,
        Error: !isCanceled && text && (
          <span class="bad">
            {text} {error_code && error_code !== text && <code>{error_code}</code>}
            {error_code && (
              <a
                class="line"
                href={hrefOf(`/messages?error_code=${encodeURIComponent(error_code)}`)}
              >
                All messages with this error
              </a>
            )}
          </span>
        ),
        Id: <Copy value={message.id} />,
        Sender: message.sender,
        Recipients: recipients?.map(({ address, role, status, error_code }) => (
          <div key={address}>
            {address} {role !== 'to' && <small>{role}</small>} <StatusBadge status={status} />{' '}
            {error_code && <small>{error_code}</small>}
          </div>
        )),
        Price: (
          <>
            <Money credits={message.credits_used} />
            {message.credits_refunded > 0 && (
              <>
                , <Money credits={message.credits_refunded} /> refunded
              </>
            )}
          </>
        ),
        Segments: segments && `${segments}, ${message.encoding}`,
        Provider: message.provider,
        "Provider's id": message.provider_message_id && (
          <Copy value={message.provider_message_id} />
        ),
        Created: timeOf(message.created_at),
        Scheduled: message.deferred_until ? null : timeOf(message.scheduled_at),
        'Quiet hours until': message.deferred_until && timeOf(message.deferred_until),
        Expires: timeOf(message.expires_at),
        Sent: timeOf(message.sent_at),
        Delivered: timeOf(message.delivered_at),
        Read: timeOf(message.read_at),
        [isCanceled ? 'Canceled' : 'Failed']: timeOf(message.failed_at),
        Erased: timeOf(message.erased_at),
        Bulk: bulk_id && <a href={hrefOf(`/bulks/${bulk_id}`)}>{bulk_id}</a>,
        Metadata: Object.keys(metadata).length > 0 && (
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
    const text = 'It is not sent, and its credits are returned.'
    const question = {
      ...{ title: 'Cancel this message?', text, action: 'Cancel message', danger: true },
      cancel: 'Keep it',
    }
    if (!(await confirm(question))) return
    await api.messages.cancel(id)
    toast('The message was canceled.')
    onChange()
  }
  async function remove(what: 'redact' | 'erase') {
    const question = {
      redact: {
        title: 'Remove the content?',
        text: 'Recipient, status and metadata stay. This cannot be undone.',
        action: 'Remove content',
      },
      erase: {
        title: 'Erase this message?',
        text: 'Recipient, content and metadata are removed, also from stored events. Status and price stay. This cannot be undone.',
        action: 'Erase',
      },
    }[what]
    if (!(await confirm({ ...question, danger: true }))) return
    await api.messages[what](id)
    toast(what === 'erase' ? 'The message was erased.' : 'The content was removed.')
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
            toast(attachments ? 'Copied, without the attachments.' : 'Copied as curl.')
          }}
        >
          Copy as curl
        </Button>
      )}
      {may('send') && (
        <>
          {!isQueued && !isEmpty && (
            <Button onClick={() => remove('redact')}>Remove content</Button>
          )}
          {!isQueued && erased_at === null && (
            <Button kind="danger" onClick={() => remove('erase')}>
              Erase
            </Button>
          )}
          {isQueued && !isInDoubt && channel !== 'voice' && (
            <Button onClick={() => setMoving(true)}>Reschedule</Button>
          )}
          {isQueued && !isInDoubt && (
            <Button kind="danger" onClick={cancel}>
              Cancel message
            </Button>
          )}
          {!isQueued && !isEmpty && (
            <LinkButton icon="compose" to={`/compose?from=${id}`}>
              Send again
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
    await api.messages.reschedule(message.id, { scheduled_at: new Date(at).toISOString() })
    toast('The message has a new time.')
    onDone()
    onClose()
  }
  return (
    <FormDialog title="Reschedule" action="Save" onSubmit={save} onClose={onClose}>
      {(error) => (
        <TextInput
          label="Send at"
          type="datetime-local"
          required
          autofocus
          hint={`In your time zone, ${timeZone()}. A past time means now.`}
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

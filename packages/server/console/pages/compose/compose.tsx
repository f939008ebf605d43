import type { Message } from '@svc/client'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import {
  Button,
  ErrorBox,
  Field,
  focusFault,
  LinkButton,
  Loaded,
  PageHead,
} from '../../parts/index.ts'
import { type FoundPerson, usePeople } from '../../parts/people.tsx'
import { api, fieldError } from '../../shell/api.ts'
import { facts } from '../../shell/facts.ts'
import { useLoad } from '../../shell/load.ts'
import { go, query } from '../../shell/router.ts'
import { mode } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import type { Channel } from '../messages/channels.ts'
import { Stopped } from '../messages/stopped.tsx'
import { bound, ChannelTabs, ContentFields, MoreFields } from './content-fields.tsx'
import { type Draft, draftFrom, EMPTY, isComplete, requestOf } from './draft.ts'
import { EstimateCard, useEstimate } from './estimate.tsx'
import { keyFor, used } from './idempotency.ts'

function Compose() {
  const from = query.value.get('from')
  return (
    <>
      <PageHead title={t('New message')}>
        <LinkButton icon="bulks" to="/bulks/new">
          {t('Send to many')}
        </LinkButton>
      </PageHead>
      {from ? <Again id={from} /> : <Form initial={fromAddress()} />}
    </>
  )
}

/** The form with the recipient and the channel of the address, such as `/compose?channel=sms&to=+15005550006`. */
function fromAddress(): Draft {
  const channel = query.value.get('channel') as Draft['channel'] | null
  const to = (query.value.get('to') ?? '').replace(/^ (?=\d)/, '+')
  return { ...EMPTY, to, ...(channel && { channel }) }
}

/** The form with the values of a sent message. */
function Again({ id }: { id: string }) {
  const load = useLoad((signal) => api.messages.get(id, { signal }), [id])
  return <Loaded of={load}>{({ message }) => <Form key={id} initial={draftOf(message)} />}</Loaded>
}

function draftOf({ recipient, recipients, ...message }: Message): Draft {
  const to = recipients?.filter(({ role }) => role === 'to').map(({ address }) => address)
  return { ...draftFrom(message), to: to?.join(', ') || recipient }
}

function Form({ initial }: { initial: Draft }) {
  const [draft, setDraft] = useState(initial)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const isSending = useRef(false)
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }))
  useEffect(() => setError(undefined), [draft])
  const element = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error !== undefined) focusFault(element.current)
  }, [error])
  const { body, faults } = requestOf(draft)
  const isReady = isComplete(draft) && faults.length === 0
  const estimate = useEstimate(isReady ? body : null)
  const errorOf = (path: string) =>
    fieldError({ details: faults }, path) ?? fieldError(error ?? estimate.error, path)
  async function send(event: Event) {
    event.preventDefault()
    // A second click arrives before the button is drawn as busy.
    if (isSending.current) return
    if (faults.length > 0) return focusFault(element.current)
    isSending.current = true
    setBusy(true)
    setError(undefined)
    try {
      const { message_id } = await api.messages.send(body, { idempotencyKey: keyFor(body) })
      used(body)
      go(`/messages/${message_id}`)
    } catch (failure) {
      setError(failure)
      setBusy(false)
    } finally {
      isSending.current = false
    }
  }
  const editing = { draft, set, errorOf }
  return (
    <form class="columns" onSubmit={send} noValidate ref={element}>
      <div class="card form">
        <ChannelTabs {...editing} />
        <Recipient channel={draft.channel} {...bound(editing, 'to', 'to')} />
        <ContentFields {...editing} />
        <MoreFields {...editing} />
      </div>
      <div class="stack">
        <Stopped channel={draft.channel} />
        <EstimateCard estimate={estimate} onText={(text) => set({ text })} />
        {error !== undefined && <ErrorBox error={error} />}
        <Button kind="primary" type="submit" busy={isBusy}>
          {actionOf(draft)}
        </Button>
      </div>
    </form>
  )
}

function actionOf({ at }: Draft): string {
  if (mode.value === 'test') return at ? t('Schedule test message') : t('Send test message')
  return at ? t('Schedule') : t('Send')
}

/** The recipient: the contacts are offered whose names begin with the typed text. Of several addresses, the last one is searched. */
function Recipient({
  channel,
  value,
  onInput,
  error,
}: {
  channel: Channel
  value: string
  onInput(value: string): void
  error: string | undefined
}) {
  const isMail = channel === 'email'
  const start = isMail ? value.lastIndexOf(',') + 1 : 0
  const typed = value.slice(start)
  const addressOf = ({ phone, email }: FoundPerson) => (isMail ? email : phone)
  const take = (person: FoundPerson) => {
    const before = value.slice(0, start)
    setChosen(person)
    onInput(before + (before && ' ') + (addressOf(person) ?? ''))
  }
  const [chosen, setChosen] = useState<FoundPerson>()
  const isName = !isMail && /\p{L}/u.test(typed)
  const isChosen = chosen !== undefined && typed.trim() === addressOf(chosen)
  const people = usePeople(typed, take, addressOf)
  const element = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => element.current?.focus(), [])
  return (
    <Field
      label={t('Recipient')}
      hint={
        <>
          {isChosen && chosen.name && (
            <strong class="line">{rich('To {bdi}', { bdi: <bdi>{chosen.name}</bdi> })}</strong>
          )}
          {isMail
            ? t('The name of a contact, or one address or several, separated by commas.')
            : t(
                'The name of a contact, or a phone number with + and country code, such as +14155550100.',
              )}
          <SandboxHint channel={channel} />
        </>
      }
      error={error && isName ? t('Choose a contact from the list, or write its number.') : error}
    >
      {(control) => (
        <span class="combobox">
          <input
            {...control}
            {...people.input}
            ref={element}
            type="text"
            dir="auto"
            value={value}
            onInput={({ currentTarget }) => {
              onInput(currentTarget.value)
              people.open()
            }}
          />
          {people.list}
        </span>
      )}
    </Field>
  )
}

/** Says that no phone and no mailbox gets the message, and which recipients decide its outcome. */
export function SandboxHint({ channel }: { channel: Channel }) {
  if (mode.value !== 'test' && facts.carried.includes(channel)) return null
  return (
    <>
      {' '}
      {channel === 'email'
        ? t(
            'The sandbox takes the message, so that no mailbox gets it: delivered@sandbox.svc is delivered, bounced@sandbox.svc bounces.',
          )
        : t(
            'The sandbox takes the message, so that no phone gets it: +15005550006 is delivered, +15005550008 replies, +15005550007 fails.',
          )}
    </>
  )
}

export default { title: t('New message'), Page: Compose }

import { useEffect, useState } from 'preact/hooks'
import type { ReadRecipient } from '../../../src/console-api/console-answers.ts'
import { Button, FormDialog, Loaded, Select, TextInput, toast } from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { credits } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { session } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { keyFor, used } from '../compose/idempotency.ts'
import { plainPhone } from '../contacts/plain-phone.ts'
import { Content } from '../messages/content.tsx'
import { MailPreview } from '../templates/preview.tsx'

/** The message that one recipient would get; without a content, the reason. */
interface Preview {
  to: string | null
  content: object | null
  message: string | null
}

/** The request of a bulk without its recipients. */
type Shared = Readonly<Record<string, unknown>> & { channel: string }

/** The recipients to choose from: more do not belong into a menu. */
const CHOICES = 100

const TYPING_MS = 600

/** The text that one recipient of a bulk would get, before it is sent, and a test of it to an own address. */
export function BulkPreview({
  shared,
  recipients,
}: {
  shared: Shared
  recipients: readonly ReadRecipient[]
}) {
  const [part, setPart] = useState('')
  const [chosen, setChosen] = useState('0')
  const [isTesting, setTesting] = useState(false)
  const wanted = part.trim().toLowerCase()
  const found = recipients
    .filter((one) => wanted === '' || labelOf(one).toLowerCase().includes(wanted))
    .slice(0, CHOICES)
  const recipient = found[Number(chosen)] ?? found[0]
  const request = useSettled(recipient ? { ...shared, recipients: [recipient] } : null)
  const load = useLoad(
    () =>
      request ? ownApi.send<Preview>('POST', '/bulks/preview', request) : Promise.resolve(null),
    [JSON.stringify(request)],
  )
  const content = load.data?.content
  return (
    <section class="card form">
      <h2>{t('Preview')}</h2>
      {recipients.length > CHOICES && (
        <TextInput
          label={t('Find a recipient')}
          hint={t('A part of the address or the name.')}
          value={part}
          onInput={(text) => {
            setPart(text)
            setChosen('0')
          }}
        />
      )}
      <Select
        label={t('What this recipient gets')}
        value={chosen}
        options={found.map((one, i) => [`${i}`, labelOf(one)] as const)}
        onInput={setChosen}
      />
      <Loaded of={load}>
        {(preview) =>
          preview?.content ? (
            shared.channel === 'email' ? (
              <MailPreview content={preview.content} />
            ) : (
              <Content channel={shared.channel} content={preview.content} />
            )
          ) : (
            <p class="muted">{preview?.message ?? t('No recipient matches.')}</p>
          )
        }
      </Loaded>
      {content && <Button onClick={() => setTesting(true)}>{t('Test to myself')}</Button>}
      {isTesting && content && (
        <TestToMyself shared={shared} content={content} onClose={() => setTesting(false)} />
      )}
    </section>
  )
}

function labelOf({ to, contact_id, name }: ReadRecipient): string {
  const address = to ?? contact_id ?? ''
  return name ? `${name}, ${address}` : address
}

/** The value that did not change for a short time. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value)
  const key = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS)
    return () => clearTimeout(timer)
  }, [key])
  return settled
}

/** Sends the shown text to an address of the person: a normal message with its price. */
function TestToMyself({
  shared: { channel, from },
  content,
  onClose,
}: {
  shared: Shared
  content: object
  onClose(): void
}) {
  const isMail = channel === 'email'
  const [to, setTo] = useState(isMail ? (session.value?.user.email ?? '') : '')
  const address = isMail ? to.trim() : plainPhone(to)
  const body = { channel, to: address, content, ...(from !== undefined && { from }) }
  const typed = useSettled(address)
  const priced = /^\+[1-9]\d{6,14}$/.test(typed) ? typed : (EXAMPLES[channel] ?? '')
  const price = useLoad(
    (signal) => api.messages.estimate({ ...body, to: priced } as never, { signal }),
    [priced],
  )
  return (
    <FormDialog
      title={t('Test to myself')}
      action={t('Send the test')}
      onClose={onClose}
      onSubmit={async () => {
        await api.messages.send(body as never, { idempotencyKey: keyFor(body) })
        used(body)
        toast(t('The test is sent. It is in Messages.'))
        onClose()
      }}
    >
      {(error) => (
        <>
          <TextInput
            label={t('My address')}
            hint={
              channel === 'email'
                ? t('Your e-mail address.')
                : t('Your number with + and the country code.')
            }
            type={channel === 'email' ? 'email' : 'tel'}
            autofocus
            value={to}
            onInput={setTo}
            error={fieldError(error, 'to')}
          />
          <p>
            {price.data && price.data.credits_needed > 0
              ? rich('It is charged as a normal message: about {price}.', {
                  price: credits(price.data.credits_needed),
                })
              : t('It is charged as a normal message.')}
          </p>
        </>
      )}
    </FormDialog>
  )
}

/** Recipients for the price of a test before a number is typed; countries can have other prices. */
const EXAMPLES: Readonly<Record<string, string>> = {
  sms: '+14155550101',
  whatsapp: '+14155550101',
  voice: '+14155550101',
  email: 'you@example.com',
}

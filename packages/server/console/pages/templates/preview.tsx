import type { TemplatePreview } from '@svc/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  Badge,
  Button,
  ErrorBox,
  Facts,
  FormDialog,
  Money,
  Tabs,
  TextInput,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { base } from '../../shell/facts.ts'
import { askLater } from '../../shell/load.ts'
import { hrefOf } from '../../shell/router.ts'
import { may, mode, session } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { SandboxHint } from '../compose/compose.tsx'
import { keyFor, used } from '../compose/idempotency.ts'
import { plainPhone } from '../contacts/plain-phone.ts'
import { channelName } from '../messages/channels.ts'
import { type AnyContent, Content } from '../messages/content.tsx'
import { type Edited, type EditedVariant, previewRequestOf } from './edited.ts'

/** The preview of the shown text. After a fault the one before it stays. */
export interface Previewed {
  data?: TemplatePreview | undefined
  error?: unknown
  /** Whether the text is too short for a preview. */
  isBare?: boolean
}

const TYPING_MS = 400

/** Asks for the preview of the unsaved text, some time after the last change; a later request ends an earlier one. */
export function usePreview(edited: Edited, index: number): Previewed {
  const request = previewRequestOf(edited, index)
  const key = JSON.stringify(request)
  const { channel, locale } = edited.variants[index] as EditedVariant
  const place = `${channel} ${locale}`
  const [state, setState] = useState<Previewed & { place?: string }>({})
  useEffect(() => {
    if (!request) return setState({ place, isBare: true })
    return askLater(
      TYPING_MS,
      (signal) => api.templates.preview(request, { signal, maxRetries: 0 }),
      ({ preview: data }) => setState({ data, place }),
      (error) =>
        setState((before) => ({
          place,
          error,
          data: before.place === place ? before.data : undefined,
        })),
    )
  }, [key])
  return state.place === place ? state : {}
}

/** A fault without the place of its field in the request: it is shown beside the field. */
export function plain(message: string | undefined): string | undefined {
  return message
    ?.replace(/(?:template\.)?varia(?:nts|bles)\.\d+\.|\bcontent\./g, '')
    .replace(/^\w+: /, '')
}

/** Whether the fields of the editor show the whole fault. */
function isInEditor(error: unknown): boolean {
  const { details } = error as { details?: readonly { path: string }[] }
  return Boolean(details?.every(({ path }) => /^(?:template\.)?varia|^content/.test(path)))
}

/** What a message with the shown text looks like, with examples for its values. */
export function Preview({ preview, variant }: { preview: Previewed; variant: EditedVariant }) {
  const { data, error } = preview
  const [isTesting, setTesting] = useState(false)
  const [sent, setSent] = useState<string>()
  const { text = '' } = (data?.content ?? {}) as AnyContent
  return (
    <section class="card template-preview" aria-label={t('Preview')}>
      <h2>{t('Preview')}</h2>
      {preview.isBare && (
        <p class="muted">
          {variant.channel === 'email'
            ? t('Subject and content give the preview.')
            : t('The text gives the preview.')}
        </p>
      )}
      {error !== undefined && !isInEditor(error) && <ErrorBox error={error} />}
      {data && (
        <>
          {data.channel === 'email' ? (
            <MailPreview content={data.content} />
          ) : (
            <div class="handset">
              <Content id="" channel={data.channel} content={data.content} />
            </div>
          )}
          <div aria-live="polite">
            {data.missing.length > 0 && (
              <p class="tags">
                {rich('No value for {names}', {
                  names: data.missing.map((name) => (
                    <Badge key={name} tone="warn">
                      {name}
                    </Badge>
                  )),
                })}
              </p>
            )}
            <Facts
              of={{
                ...(data.segments !== null && {
                  [t('Segments')]: `${data.segments}, ${data.encoding}`,
                  [t('Characters')]: text.length,
                }),
                [t('Default price')]: <Money credits={data.credits} />,
              }}
            />
          </div>
          {may('send') && (
            <div class="actions">
              <Button
                icon="compose"
                disabled={error !== undefined || data.missing.length > 0}
                onClick={() => setTesting(true)}
              >
                {t('Send a test to myself')}
              </Button>
              {sent && <a href={hrefOf(`/messages/${sent}`)}>{t('Show the sent test')}</a>}
            </div>
          )}
        </>
      )}
      {isTesting && data && (
        <SendTest preview={data} onSent={setSent} onClose={() => setTesting(false)} />
      )}
    </section>
  )
}

const VIEWS = [
  ['phone', t('Phone')],
  ['desktop', t('Desktop')],
  ['dark', t('Dark')],
] as const
const TEXT = ['text', t('Plain text')] as const

/** A mail as programs show it. */
export function MailPreview({ content }: { content: object }) {
  const { subject, html, text, ...more } = content as AnyContent
  const [chosen, setView] = useState<string>('phone')
  const tabs = [...(html ? VIEWS : []), ...(text ? [TEXT] : [])]
  const view = tabs.some(([id]) => id === chosen) ? chosen : (tabs[0]?.[0] ?? 'text')
  return (
    <>
      <h3 dir="auto">{subject}</h3>
      <Tabs label={t('View')} tabs={tabs} current={view} onChoose={setView} />
      {view === 'text' ? <pre>{text}</pre> : <MailFrame html={html ?? ''} view={view} />}
      {Object.keys(more).length > 0 && <Content id="" channel="" content={more} />}
    </>
  )
}

type Realm = Window & { DOMParser: typeof DOMParser }

/**
 * The HTML of a mail in an empty document of the service, whose policy and sandbox run no script and load nothing. This page
 * fills it in, so that the mail stays at its place while it is typed. `view`: `dark` is what a mail shows that knows dark colours.
 */
function MailFrame({ html, view }: { html: string; view: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [isReady, setReady] = useState(false)
  useEffect(() => {
    const { contentDocument: page, contentWindow } = frame.current ?? {}
    if (!isReady || !page || !contentWindow) return
    // The parser of the frame: a document of this page's parser has this page's policy, which refuses the styles of the mail.
    const parser = new (contentWindow as Realm).DOMParser()
    const mail = parser.parseFromString(html, 'text/html')
    // Nothing external is loaded in any case, and the browser would report each try.
    for (const one of mail.querySelectorAll('link, meta[http-equiv]')) one.remove()
    // The sandbox opens no other window, so that links lead nowhere.
    for (const one of mail.querySelectorAll('a, area, form')) one.setAttribute('target', '_blank')
    const { scrollY } = contentWindow
    page.replaceChild(page.adoptNode(mail.documentElement), page.documentElement)
    contentWindow.scrollTo(0, scrollY)
  }, [html, isReady])
  return (
    <>
      <div class={`mail-view ${view}`}>
        <iframe
          ref={frame}
          title={t('Preview of the e-mail')}
          sandbox="allow-same-origin"
          referrerpolicy="no-referrer"
          src={`${base}/assets/mail.html`}
          onLoad={() => setReady(true)}
        />
      </div>
      <p class="small">
        {view === 'dark'
          ? t('In programs with dark colours, with the dark styles of the mail.')
          : t('Links and images from other hosts work only in the sent mail.')}
      </p>
    </>
  )
}

/** Sends the shown text, as a message that is not from the template: a draft is no version yet. */
function SendTest({
  preview: { channel, content },
  onSent,
  onClose,
}: {
  preview: TemplatePreview
  onSent(id: string): void
  onClose(): void
}) {
  const isMail = channel === 'email'
  const [to, setTo] = useState(isMail ? (session.value?.user.email ?? '') : lastPhone)
  async function send() {
    const body = { channel, to: isMail ? to.trim() : plainPhone(to), content } as Parameters<
      typeof api.messages.send
    >[0]
    const { message_id } = await api.messages.send(body, { idempotencyKey: keyFor(body) })
    used(body)
    if (!isMail) lastPhone = to
    onSent(message_id)
    onClose()
  }
  return (
    <FormDialog
      title={t('Send a test by {channel}', { channel: channelName(channel) })}
      action={mode.value === 'test' ? t('Send test message') : t('Send')}
      onSubmit={send}
      onClose={onClose}
    >
      {(error) => (
        <>
          <TextInput
            label={isMail ? t('Your e-mail address') : t('Your phone number')}
            autofocus
            required
            hint={
              <>
                {t('The text as the preview shows it.')}{' '}
                {mode.value !== 'test' && t('It costs as much as any message.')}
                <SandboxHint channel={channel} />
              </>
            }
            error={fieldError(error, 'to')}
            value={to}
            onInput={setTo}
          />
        </>
      )}
    </FormDialog>
  )
}

/** The number of the last test, for the next one. */
let lastPhone = ''

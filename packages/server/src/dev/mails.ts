import type { KeptMail, Viewer } from '@svc/core'
import { type EmailContent, type Message, SvcError, uuid } from '@svc/core/contract'
import { type DecodedCore, messageSource, ownerMailSource } from '@svc/core/operate'
import type { CapturedMail, WholeMail } from './dev-answers.ts'

const MESSAGES_MAX = 100

/** The mails that were sent to no mail server: those of the sandbox, and those of the service itself. */
interface Mails {
  /** The last ones, newest first. */
  list(viewer: Viewer): Promise<CapturedMail[]>
  get(viewer: Viewer, id: string): Promise<WholeMail>
  /** The source (RFC 5322). */
  source(viewer: Viewer, id: string): Promise<Buffer>
  /** The HTML as a page whose links open in new tabs, with the inline images in it. */
  page(viewer: Viewer, id: string): Promise<string>
  attachment(viewer: Viewer, id: string, index: number): Promise<{ name: string; content: Buffer }>
}

type Found = { mail: KeptMail } | { message: Message; content: EmailContent }

export function createMails(
  core: Pick<DecodedCore, 'mails' | 'messages' | 'secret'>,
  { brand, public_url }: { brand: string; public_url(): string },
): Mails {
  async function find(viewer: Viewer, id: string): Promise<Found> {
    const mail = core.mails.list().find((one) => String(one.id) === id)
    if (mail) return { mail }
    const message = uuid.safeParse(id).success ? await core.messages.whole(viewer, id) : null
    if (message?.channel !== 'email' || !('subject' in message.content)) throw noMail()
    return { message, content: message.content }
  }

  async function sourceOf(found: Found): Promise<Buffer> {
    if ('mail' in found) return ownerMailSource(found.mail, brand)
    // The name of the secret with which providers sign the links to unsubscribe.
    const secret = await core.secret('providers')
    const source = await messageSource(found.message, { public_url: public_url(), secret })
    if (!source) throw noMail()
    return source
  }

  return {
    async list(viewer) {
      const query = { page: 1, limit: MESSAGES_MAX, channel: 'email' } as const
      const { messages } = await core.messages.list(viewer, query)
      const captured = messages.filter(
        ({ provider, status }) => provider === 'sandbox' && status !== 'queued',
      )
      const all = [...core.mails.list().map(ofService), ...captured.map(ofMessage)]
      return all.sort((a, b) => (a.at < b.at ? 1 : -1))
    },
    async get(viewer, id) {
      const found = await find(viewer, id)
      const headers = headersOf(await sourceOf(found))
      if ('mail' in found) {
        const { text, html } = found.mail
        return { ...ofService(found.mail), text, html, headers, attachments: [] }
      }
      const { text = null, html = null, attachments = [] } = found.content
      return {
        ...ofMessage(found.message),
        text,
        html,
        headers,
        attachments: attachments.map(({ filename, content_type, content }) => ({
          name: filename,
          content_type: content_type ?? 'application/octet-stream',
          bytes: Buffer.byteLength(content, 'base64'),
        })),
      }
    },
    source: async (viewer, id) => sourceOf(await find(viewer, id)),
    async page(viewer, id) {
      const found = await find(viewer, id)
      const html = 'mail' in found ? found.mail.html : (found.content.html ?? '')
      return `<!doctype html><base target="_blank">${'mail' in found ? html : withImages(html, found.content)}`
    },
    async attachment(viewer, id, index) {
      const found = await find(viewer, id)
      const file = 'mail' in found ? undefined : found.content.attachments?.[index]
      if (!file) throw new SvcError('not_found', 'Attachment not found')
      return { name: file.filename, content: Buffer.from(file.content, 'base64') }
    },
  }
}

function noMail(): SvcError {
  return new SvcError('not_found', 'Mail not found')
}

function ofService({ id, to, subject, at, kind }: KeptMail): CapturedMail {
  return { id: String(id), from: 'service', to, subject, at: at.toISOString(), state: kind }
}

function ofMessage(message: Message): CapturedMail {
  const { id, recipient, recipients, content, status, created_at } = message
  return {
    id,
    from: 'sandbox',
    to: recipients?.map(({ address }) => address).join(', ') ?? recipient,
    subject: 'subject' in content ? content.subject : '',
    at: created_at.toISOString(),
    state: status,
  }
}

/** The fields before the first empty line; a field may continue on the next lines. */
function headersOf(source: Buffer): [string, string][] {
  const end = source.indexOf('\r\n\r\n')
  const head = source.toString('utf8', 0, end < 0 ? source.length : end)
  return head
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    })
}

/** Images of the mail itself, in place of `cid:` (RFC 2392): the page may load nothing. */
function withImages(html: string, { attachments = [] }: EmailContent): string {
  const images = new Map(
    attachments
      .filter(({ content_type }) => content_type?.toLowerCase().startsWith('image/'))
      .flatMap((one) => (one.content_id === undefined ? [] : [[one.content_id, one] as const])),
  )
  return html.replace(/\bcid:([A-Za-z0-9._@+-]+)/g, (whole, id: string) => {
    const image = images.get(id)
    const [type] = image?.content_type?.split(';') ?? []
    return image ? `data:${type};base64,${image.content}` : whole
  })
}

import { isUtf8 } from 'node:buffer'
import type { VoiceContent } from '@svc/core/contract'
import { checkAttributes, readVerbs, TwimlError, unsupported } from '@svc/core/operate'
import { TwilioError } from './errors.ts'

/** Twilio's limit of the parameter `Twiml`. */
const LENGTH_MAX = 4000

/** The media types of TwiML, as Twilio takes them. */
const MEDIA_TYPES = new Set(['text/xml', 'application/xml', 'text/html'])

/** The attributes that a verb may have. */
const ATTRIBUTES = {
  Say: ['voice', 'language', ['loop', '1']],
  Play: [['loop', '1']],
  Pause: ['length'],
  Hangup: [],
} as const

/** The content of a call in the parameter `Twiml`. @throws TwilioError */
export async function readTwiml(text: string): Promise<VoiceContent> {
  if (text.length > LENGTH_MAX) {
    throw refused(`'Twiml' must be at most ${LENGTH_MAX} characters`)
  }
  return contentOf(text)
}

/** The content of a call in the answer of the program at `Url`. @throws TwilioError */
export async function readTwimlDocument({
  content_type,
  bytes,
}: {
  content_type: string
  bytes: Uint8Array
}): Promise<VoiceContent> {
  const [type = ''] = content_type.toLowerCase().split(';')
  if (!MEDIA_TYPES.has(type.trim())) {
    throw new TwilioError(
      'invalid_content_type',
      `The answer of 'Url' must have the media type ${[...MEDIA_TYPES].join(', ')}`,
    )
  }
  if (!isUtf8(bytes)) throw refused("The answer of 'Url' must be UTF-8")
  return contentOf(Buffer.from(bytes).toString('utf8'))
}

/**
 * The content of a call in TwiML: `<Say>` texts with one voice, or one `<Play>`, and `<Hangup>` at the end. `<Pause>` is left
 * out, because no provider pauses. Entities other than the five of XML, document types and other verbs are refused.
 */
async function contentOf(text: string): Promise<VoiceContent> {
  const verbs = await verbsOf(text)
  const spoken = verbs.filter(({ name }) => name === 'Say')
  const [played, ...others] = verbs.filter(({ name }) => name === 'Play')
  if (verbs.slice(0, -1).some(({ name }) => name === 'Hangup')) {
    throw refused('<Hangup> must be the last verb')
  }
  if (played && (others.length > 0 || spoken.length > 0)) {
    throw refused('A call has <Say> verbs or one <Play>')
  }
  if (played) return { audio_url: played.text.trim() }
  const [first] = spoken
  if (!first) throw refused('<Response> needs <Say> or <Play>')
  const { voice, language } = first.attributes
  if (spoken.some(({ attributes: own }) => own.voice !== voice || own.language !== language)) {
    throw refused('All <Say> verbs must have the same voice and language')
  }
  return {
    text: spoken.map((one) => one.text.trim().replace(/\s+/g, ' ')).join(' '),
    ...(voice !== undefined && { voice }),
    ...(language !== undefined && { language }),
  }
}

/** The verbs, which have no verbs of their own. */
async function verbsOf(text: string) {
  try {
    const verbs = await readVerbs(text)
    for (const verb of verbs) {
      if (!Object.hasOwn(ATTRIBUTES, verb.name)) throw unsupported(verb.name)
      checkAttributes(verb, ATTRIBUTES[verb.name as keyof typeof ATTRIBUTES])
      if (verb.children[0]) throw unsupported(verb.children[0].name)
    }
    return verbs
  } catch (error) {
    throw error instanceof TwimlError ? refused(error.message) : error
  }
}

function refused(text: string): TwilioError {
  return new TwilioError('invalid_twiml', text)
}

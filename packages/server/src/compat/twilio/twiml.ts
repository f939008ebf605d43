import type { VoiceContent } from '@svc/core/contract'
import type { SaxesTagPlain } from 'saxes'
import { TwilioError } from './errors.ts'

/** Twilio's limit of the parameter `Twiml`. */
const LENGTH_MAX = 4000
const DEPTH_MAX = 4

/** The attributes that a verb may have. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  Response: [],
  Say: ['voice', 'language', 'loop'],
  Play: ['loop'],
  Hangup: [],
}

interface Verb {
  name: string
  attributes: Readonly<Record<string, string>>
  text: string
}

/**
 * The content of a call in TwiML: `<Say>` texts with one voice, or one `<Play>`, and `<Hangup>` at the end. Entities other
 * than the five of XML, document types and other verbs are refused.
 * @throws TwilioError
 */
export async function readTwiml(text: string): Promise<VoiceContent> {
  if (text.length > LENGTH_MAX) {
    throw refused(`'Twiml' must be at most ${LENGTH_MAX} characters`)
  }
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

async function verbsOf(text: string): Promise<Verb[]> {
  // The parser is loaded for the first call only: most services make none.
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser()
  const verbs: Verb[] = []
  const open: string[] = []
  parser.on('error', (error) => {
    throw refused(`'Twiml' is not well-formed: ${error.message}`)
  })
  parser.on('doctype', () => {
    throw refused("'Twiml' must not have a document type")
  })
  parser.on('opentag', (tag) => {
    if (open.length >= DEPTH_MAX) throw refused("'Twiml' has too many levels")
    checkPlace(tag, open)
    open.push(tag.name)
    if (open.length === 2) {
      verbs.push({ name: tag.name, attributes: tag.attributes, text: '' })
    }
  })
  parser.on('closetag', () => void open.pop())
  const append = (piece: string) => {
    const verb = open.length === 2 ? verbs.at(-1) : undefined
    if (verb) verb.text += piece
    else if (piece.trim() !== '') throw refused('Text must stand in <Say> or <Play>')
  }
  parser.on('text', append)
  parser.on('cdata', append)
  parser.write(text).close()
  return verbs
}

function checkPlace({ name, attributes }: SaxesTagPlain, open: readonly string[]): void {
  const place =
    open.length === 0 ? ['Response'] : open.length === 1 ? ['Say', 'Play', 'Hangup'] : []
  const shown = name.slice(0, 64)
  if (!place.includes(name)) throw refused(`<${shown}> is not supported here`)
  for (const [attribute, value] of Object.entries(attributes)) {
    const isKnown = ATTRIBUTES[name]?.includes(attribute) ?? false
    if (!isKnown || (attribute === 'loop' && value !== '1')) {
      throw refused(`The attribute '${attribute.slice(0, 64)}' of <${shown}> is not supported`)
    }
  }
}

function refused(text: string): TwilioError {
  return new TwilioError('invalid_twiml', text)
}

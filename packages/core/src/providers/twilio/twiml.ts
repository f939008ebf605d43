import type { VoiceContent } from '../../contract/resources/content.ts'

/** What a call may be told at the most, in characters. Source: Twilio error 32018. */
export const TWIML_MAX = 4_000

/**
 * What a call does: reads the text out, or plays the recording, and hangs up. Every part of it that a caller chose is
 * escaped: markup in a text is read out and never carried out, or a text could dial numbers at the account's cost.
 */
export function twimlFor({ text, language, voice, audio_url }: VoiceContent): string {
  const verb =
    text === undefined
      ? `<Play>${escaped(audio_url ?? '')}</Play>`
      : `<Say${attribute('language', language)}${attribute('voice', voice)}>${escaped(text)}</Say>`
  return `<Response>${verb}</Response>`
}

function attribute(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${name}="${escaped(value)}"`
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** What XML 1.0 (section 2.2) has no character for, not even escaped; the flag makes a lone half of a pair match. */
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

function escaped(text: string): string {
  return text.replace(UNWRITABLE, ' ').replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '')
}

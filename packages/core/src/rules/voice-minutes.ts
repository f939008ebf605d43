import type { VoiceContent } from '../contract/resources/content.ts'

/** About 150 words a minute; and so many signs of a script whose signs are syllables or words. */
const LETTERS_PER_S = 14
const SYLLABLES_PER_S = 4
const SYLLABLE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** Until somebody who answers listens. */
const GREETING_S = 5

/** Voices differ. */
const SLOWEST = 1.25

/** Of a recording, whose length nobody knows. */
const RECORDING_MINUTES = 3

/**
 * How many minutes a call is held for, and may last at the most: its price is not known before it ends, and can never
 * pass what is held. Source: channels study, section 4.
 */
export function heldMinutes({ text }: VoiceContent): number {
  if (text === undefined) return RECORDING_MINUTES
  const syllables = text.match(SYLLABLE)?.length ?? 0
  const spoken_s = syllables / SYLLABLES_PER_S + (text.length - syllables) / LETTERS_PER_S
  return Math.max(1, Math.ceil(((GREETING_S + spoken_s) * SLOWEST) / 60))
}

/** How many minutes a call is paid for: those that began. Source: interface, Credit costs. */
export function startedMinutes(duration_s: number): number {
  return Math.ceil(Math.max(0, duration_s) / 60)
}

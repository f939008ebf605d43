import type { VoiceContent } from '../contract/resources/content.ts'

/** The speed of speech: about 150 words a minute; 4 characters a second if a character is a syllable or a word. */
const LETTERS_PER_S = 14
const SYLLABLES_PER_S = 4
const SYLLABLE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** The time until the called person listens. */
const GREETING_S = 5

/** The duration with the slowest voice, as a factor of the average duration. */
const SLOWEST = 1.25

/** The held minutes of a recording, whose length is unknown. */
const RECORDING_MINUTES = 3

/**
 * The minutes that a call's hold covers. They are also the call's maximum length, so that its price never exceeds the
 * hold. Source: channels study, section 4.
 */
export function heldMinutes({ text }: VoiceContent): number {
  if (text === undefined) return RECORDING_MINUTES
  const syllables = text.match(SYLLABLE)?.length ?? 0
  const spoken_s = syllables / SYLLABLES_PER_S + (text.length - syllables) / LETTERS_PER_S
  return Math.max(1, Math.ceil(((GREETING_S + spoken_s) * SLOWEST) / 60))
}

/** The minutes that a call is charged for. Source: interface, Credit costs. */
export function startedMinutes(duration_s: number): number {
  return Math.ceil(Math.max(0, duration_s) / 60)
}

import { signal } from '@preact/signals'
import { preference } from './preferences.ts'

/** The zone of the shown workspace. */
export const workspaceZone = signal('UTC')

const BROWSER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The zone in which pages show and read times: the chosen one of the browser, the workspace, or UTC. */
export function timeZone(): string {
  const choice = preference('time-zone')
  if (choice === 'workspace') return workspaceZone.value
  return choice === 'UTC' ? choice : BROWSER_ZONE
}

/** Formats times in this zone, whatever it is at the moment. */
export function zoned(
  language: string,
  options: Intl.DateTimeFormatOptions,
): (at: Date | number) => string {
  const known = new Map<string, Intl.DateTimeFormat>()
  return (at) => {
    const zone = timeZone()
    const format =
      known.get(zone) ?? new Intl.DateTimeFormat(language, { ...options, timeZone: zone })
    known.set(zone, format)
    return format.format(at)
  }
}

/** Swedish writes the parts of a time as inputs have them. */
const inputText = zoned('sv-SE', { dateStyle: 'short', timeStyle: 'medium' })

/** A time as the value of an input for local dates and times: `2026-05-01T09:00`. */
export function inputTime(at: string | number | Date): string {
  return inputText(new Date(at)).replace(' ', 'T').slice(0, 16)
}

/** The instant of a local date and time, such as `2026-05-01T09:00`; an invalid date for another text. */
export function instantOf(text: string): Date {
  const wall = Date.parse(`${text}Z`)
  if (Number.isNaN(wall)) return new Date(wall)
  const offsetAt = (at: number) =>
    Date.parse(`${inputText(at).replace(' ', 'T')}Z`) - Math.floor(at / 1000) * 1000
  // The offset of the instant itself, which differs from the first one beside a change of the clocks.
  return new Date(wall - offsetAt(wall - offsetAt(wall)))
}

import { SETTINGS, type Setting } from '@svc/server/settings'

/** Variables of the command that are not settings of the service. */
const OTHERS = ['SVC_CONFIG', 'SVC_PROFILE']

const KNOWN = [...SETTINGS.map(({ env }) => env), ...OTHERS]

/**
 * A warning for each variable `SVC_…` that is not a setting, with the most similar name. It contains no value, because the
 * value may be a secret.
 */
export function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const names = Object.keys(env).filter((name) => name.startsWith('SVC_') && env[name]?.trim())
  return names
    .filter((name) => !KNOWN.includes(name))
    .sort()
    .map((name) => `${name} is not a setting: ${helpFor(name)}`)
}

function helpFor(name: string): string {
  const bare = name.slice('SVC_'.length)
  const suggestion = KNOWN.includes(bare) ? bare : nearest(name, KNOWN)
  return suggestion === null ? 'svc config show lists the settings' : `did you mean ${suggestion}?`
}

/** The maximum number of edits between the typed word and a suggestion. */
const EDITS_MAX = 3

/** The most similar word; null when no word is similar. */
export function nearest(word: string, words: readonly string[]): string | null {
  let best: { word: string; edits: number } | null = null
  for (const candidate of words) {
    const edits = editDistance(word, candidate)
    const isClose = edits <= Math.min(EDITS_MAX, Math.ceil(candidate.length / 3))
    if (isClose && (best === null || edits < best.edits)) best = { word: candidate, edits }
  }
  return best?.word ?? null
}

/** The number of edits between two words. An edit inserts, removes or replaces a letter, or swaps two neighbours. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > EDITS_MAX) return EDITS_MAX + 1
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const least = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/** The default of a setting in the form of the environment; empty if it has none. */
export function defaultOf(env: string): string {
  return settingOf(env).default_text ?? ''
}

/** The help text of an option that replaces a setting. */
export function optionText(env: string): string {
  const { summary, default: value } = settingOf(env)
  return `${summary} (default: ${env}, or ${value})`
}

/**
 * The row of a setting.
 * @throws Error for a variable that is not in the table.
 */
export function settingOf(env: string): Setting {
  const setting = SETTINGS.find((each) => each.env === env)
  if (!setting) throw new Error(`there is no setting ${env}`)
  return setting
}

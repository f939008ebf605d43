import { preference } from './preferences.ts'
import { keyOf } from './text-key.ts'

/**
 * The texts of one language. The key is the English text as the pages have it, with values in braces: `Sent to {name}`. A text that
 * depends on a number has the key of the plural, `{n} messages`, and one form for each category of CLDR.
 */
export type Texts = Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>

/** The same by `keyOf`, as the build makes them of the sources. */
export type BuiltTexts = Record<number, Texts[string]>

interface Language {
  /** In the language itself. */
  name: string
  load(): Promise<{ default: BuiltTexts }>
  isRightToLeft?: true
}

/** The languages of the console beside English, by their BCP 47 tag. */
export const LANGUAGES: Record<string, Language> = {
  de: { name: 'Deutsch', load: () => import('../languages/de.ts') },
  ar: { name: 'العربية', load: () => import('../languages/ar.ts'), isRightToLeft: true },
}

/** The parts of a browser that this file needs. Tests read the texts without a browser, and their types know none. */
interface Browser {
  navigator: { languages: readonly string[] }
  document: { documentElement: { setAttribute(name: string, value: string): void } }
}

const { document, navigator } = globalThis as unknown as Partial<Browser>

/** Shows each text that goes through the catalogue in brackets and longer, for tests: a text without brackets is not translated. */
const PSEUDO = 'en-XA'

function languageOf(tags: readonly string[]): string {
  for (const tag of tags) {
    const found = [tag, tag.split('-')[0] ?? ''].find((one) => one === 'en' || one in LANGUAGES)
    if (found) return found
  }
  return 'en'
}

const chosen = preference('language')

/** The language of the texts: the chosen one, or the first of the browser that the console has, or English. */
export const language =
  chosen === PSEUDO
    ? 'en'
    : languageOf([
        ...(chosen ? [chosen] : []),
        ...(document && navigator ? navigator.languages : []),
      ])

/** The language for dates and numbers of `Intl`. Arabic has Latin digits, as the phone numbers and ids beside them. */
export const LOCALE = language === 'ar' ? 'ar-u-nu-latn' : language

const { load, isRightToLeft } = LANGUAGES[language] ?? {}

// Scripts of pages read texts while they are loaded, so they wait for the catalogue. Without it, the texts are English.
const texts: BuiltTexts = (await load?.().catch(() => null))?.default ?? {}

document?.documentElement.setAttribute('lang', language)
document?.documentElement.setAttribute('dir', isRightToLeft ? 'rtl' : 'ltr')

/** The step of an arrow key along the line: in Arabic, the next is on the left. 0 for another key. */
export function sideStep(key: string): number {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key] ?? 0
  return isRightToLeft ? -step : step
}

const plurals = new Intl.PluralRules(language)

type Value = string | number | boolean | null | undefined

/** The text in the language, with its values: `t('Sent to {name}', { name })`. */
export function t(text: string, values?: Record<string, Value>): string {
  return filled(translated(text), values).join('')
}

/** As `t`, with elements as values: the parts of the text, in their order. */
export function rich<Element = never>(
  text: string,
  values: Record<string, Value | Element> = {},
): (Value | Element)[] {
  return filled(translated(text), values)
}

/** The form of a text for a number, whose value is `{n}`: `plural(2, '{n} message', '{n} messages', '2')`. */
export function plural(
  n: number,
  one: string,
  other: string,
  shown: string,
  values: Record<string, Value> = {},
): string {
  return filled(formOf(n, one, other), { ...values, n: shown }).join('')
}

/**
 * A sentence of the service in the language, with elements as values: its parts. `one`: the English form for the number 1 of the
 * value `n`.
 */
export function sentence<Element>(
  {
    text,
    one,
    values,
  }: {
    text: string
    one: string | null
    values: readonly { name: string; value: string | number }[]
  },
  elementOf: (value: string) => Element,
): (string | Element)[] {
  const shown = Object.fromEntries(
    values.map(({ name, value }) => [name, elementOf(value.toLocaleString(LOCALE))]),
  )
  if (one === null) return filled(translated(text), shown)
  const n = Number(values.find(({ name }) => name === 'n')?.value)
  return filled(formOf(n, one, text), shown)
}

function formOf(n: number, one: string, other: string): string {
  const forms = texts[keyOf(other)]
  const form = typeof forms === 'object' ? (forms[plurals.select(n)] ?? forms.other) : forms
  return form ?? (n === 1 ? one : other)
}

function translated(text: string): string {
  const found = texts[keyOf(text)]
  return typeof found === 'string' ? found : text
}

/** A phone number would be turned around within a text from right to left, and a value may be of another direction. */
const isolated = (text: string) => `\u2068${text}\u2069`

/** A name in braces that has no value stays: it is a placeholder of a message. */
function filled<Element>(text: string, values: Record<string, Element> = {}): (string | Element)[] {
  const found = text.split(/\{(\w+)\}/).map((part, i) => {
    if (i % 2 === 0) return isRightToLeft ? part.replace(/\+\d+/g, isolated) : part
    if (!(part in values)) return `{${part}}`
    const value = values[part] ?? ''
    return isRightToLeft && typeof value === 'string' ? isolated(value) : value
  })
  if (chosen !== PSEUDO) return found
  return found.map((part) => (typeof part === 'string' && part ? `⟦${part}⟧` : part))
}

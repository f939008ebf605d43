import type { Content } from '../contract/resources/content.ts'
import { countSegments } from '../sms/segments.ts'
import { CODE_TEXT_TABLE, type CodeSentences, type CodeTexts } from './code-text-table.ts'

/** What a text about a code names. */
export interface CodeTextRequest {
  channel: 'sms' | 'whatsapp' | 'email' | 'voice'
  /** A BCP 47 tag such as `de-AT`; null: English. */
  locale: string | null
  /** Who asks for the code, at most 40 characters; shortened so that an SMS stays one segment. */
  brand: string
  /** Stands for the code in the content: the caller replaces it (by digits; in a call by digits read one by one). */
  mask: string
  /** Minutes for which the code is valid; absent: not known. */
  minutes?: number
  /** WebOTP: the last line of an SMS is `@domain #code`. */
  domain?: string
  /** Android SMS Retriever: the hash of the app is the last line of an SMS. */
  app_hash?: string
}

/** The locales that have texts. */
export const CODE_LOCALES: readonly string[] = Object.keys(CODE_TEXT_TABLE)

/** A brand with fewer characters names no product: an SMS without a brand is as clear. */
const BRAND_MIN = 4

/** Languages that are read by the speakers of another one, whose texts they get. */
const READ_AS: Readonly<Record<string, string>> = { nn: 'nb', no: 'nb' }

/**
 * The content of the message, and the locale that was chosen (`de-AT` falls back to `de`, then `en`; an invalid tag gets
 * `en`). A call falls back to `en` where the voice providers do not speak the language.
 *
 * `mask` is in the content where the code is: once, in an SMS with a domain also in its last line, in an e-mail once each in
 * subject, text and HTML, in a call twice. The subject has the code, because people read it in the notification.
 *
 * An SMS is one segment once digits replace the mask, one for each of its characters: a shorter mask than the code can give a
 * second segment. What does not fit is left out, in this order: the validity, the warning
 * instead, both, words at the end of the brand, letters at the end of the brand if its first word is too long or too short,
 * the brand. Only with a domain that is too long for that, the SMS has a second segment.
 *
 * With both endings, the line of WebOTP is the last line but one: SMS Retriever requires that the hash ends the message.
 */
export function codeContent(request: CodeTextRequest): { content: Content; locale: string } {
  const locale = localeOf(request)
  const texts = CODE_TEXT_TABLE[locale] as CodeTexts
  const values: Values = {
    code: request.mask,
    brand: brandOf(request),
    minutes: spaced(minutesIn(locale).format(request.minutes ?? 0)),
    number: String(request.minutes ?? 0),
  }
  return { content: contentOf(request, locale, texts, values), locale }
}

/** What the texts of the table name. */
type Values = Readonly<Record<'code' | 'brand' | 'minutes' | 'number', string>>

function contentOf(
  request: CodeTextRequest,
  locale: string,
  texts: CodeTexts,
  values: Values,
): Content {
  switch (request.channel) {
    case 'sms':
      return { text: smsText(request, texts.sms ?? texts, values) }
    case 'whatsapp':
      return { text: joined([texts.code, texts.valid, texts.secret], values) }
    case 'email':
      return mail(locale, texts, values)
    case 'voice': {
      const { text, language } = texts.call as NonNullable<CodeTexts['call']>
      return { text: joined([text, texts.secret], values), language }
    }
  }
}

function smsText(
  { mask, domain, app_hash, minutes }: CodeTextRequest,
  { code, valid, secret }: CodeSentences,
  values: Values,
): string {
  const ending = [domain && `@${compact(domain)} #${mask}`, app_hash && compact(app_hash)]
    .filter(Boolean)
    .map((line) => `\n${line}`)
    .join('')
  const textOf = (sentences: string[], brand = values.brand) =>
    joined(sentences, { ...values, brand }) + ending
  // Bullets are not in GSM-7, but the digits that replace them are.
  const fits = (text: string) => countSegments(text.replaceAll(mask, '0'.repeat(mask.length))) === 1

  const validity = minutes === undefined ? [] : [valid]
  const orders = [[code, ...validity, secret], [code, secret], [code, ...validity], [code]]
  for (const sentences of orders) {
    const text = textOf(sentences)
    if (fits(text)) return text
  }
  const beginnings = beginningsOf(values.brand).filter(({ length }) => length >= BRAND_MIN)
  const texts = [...beginnings, ''].map((brand) => textOf([code], brand))
  return texts.find(fits) ?? textOf([code])
}

/** The beginnings of a brand: first those of whole words, then all others, each from the longest. */
function beginningsOf(brand: string): string[] {
  const words = brand.split(' ')
  // A grapheme is what is read as one character, such as an emoji of several code points.
  const graphemes = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(brand)]
  return [
    ...words.map((_, count) => words.slice(0, count).join(' ')).reverse(),
    ...graphemes.map(({ index }) => brand.slice(0, index).trimEnd()).reverse(),
  ]
}

function mail(locale: string, { code, valid, secret, ignore, rtl }: CodeTexts, values: Values) {
  const paragraphs = [[code], [valid, secret], [ignore]]
  const inHtml: Values = {
    ...values,
    // Digits in their own direction, so that no character beside them moves into them.
    code: `<b dir="ltr" style="font-size:1.5em">${escaped(values.code)}</b>`,
    brand: escaped(values.brand),
  }
  const body = paragraphs.map((sentences) => `<p>${joined(sentences.map(escaped), inHtml)}</p>`)
  return {
    subject: filled(code, values).replace(/[.。।]$/u, ''),
    text: paragraphs.map((sentences) => joined(sentences, values)).join('\n\n'),
    html: `<!doctype html>\n<html lang="${locale}" dir="${rtl ? 'rtl' : 'ltr'}"><body>${body.join('')}</body></html>`,
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function joined(sentences: readonly string[], values: Values): string {
  const text = sentences.map((sentence) => filled(sentence, values)).join(' ')
  // The full-width stop has its own space.
  return text.replaceAll('。 ', '。')
}

/** One pass, so that a brand with braces stays as it is. */
function filled(sentence: string, values: Values): string {
  const [start = '', ...parts] = sentence.split('[')
  const chosen = parts.map((part) => {
    const [choice = '', ...rest] = part.split(']')
    const [named = '', unnamed = ''] = choice.split('|')
    return `${values.brand === '' ? unnamed : named}${rest.join(']')}`
  })
  return [start, ...chosen].join('').replace(/\{(\w+)\}/g, (_, name: keyof Values) => values[name])
}

function localeOf({ locale, channel }: CodeTextRequest): string {
  const found = knownLocale(locale ?? 'en')
  return channel === 'voice' && CODE_TEXT_TABLE[found]?.call === null ? 'en' : found
}

function knownLocale(tag: string): string {
  // Most tags are those of the table; to parse a tag takes 4 µs.
  if (Object.hasOwn(CODE_TEXT_TABLE, tag)) return tag
  const parsed = parsedLocale(tag)
  if (parsed?.language === 'zh') return parsed.maximize().script === 'Hant' ? 'zh-TW' : 'zh-CN'
  const language = READ_AS[parsed?.language ?? ''] ?? parsed?.language
  const candidates = [`${language}-${parsed?.region}`, `${language}`]
  return candidates.find((name) => Object.hasOwn(CODE_TEXT_TABLE, name)) ?? 'en'
}

/** Null for an invalid tag. `de_AT` is what many systems write. */
function parsedLocale(tag: string): Intl.Locale | null {
  try {
    return new Intl.Locale(tag.replaceAll('_', '-'))
  } catch {
    return null
  }
}

/** One line without characters that are invisible or change the direction of others; joiners are part of words and emoji. */
function brandOf({ brand, mask }: CodeTextRequest): string {
  const visible = brand.replace(/(?![\u200c\u200d])[\p{Cf}\p{Cs}]/gu, '')
  // The caller would put the code in the place of the mask.
  return spaced(visible.replaceAll(mask, ' '))
}

/** With plain single spaces: GSM-7 has no no-break space, which some languages have between a number and its unit. */
function spaced(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim()
}

function compact(text: string): string {
  return text.replace(/[\p{C}\s]/gu, '')
}

const formats = new Map<string, Intl.NumberFormat>()

/** Digits of the code and of the minutes are the same in all languages, because people type them. */
function minutesIn(locale: string): Intl.NumberFormat {
  const known = formats.get(locale)
  if (known) return known
  const made = new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: 'minute',
    unitDisplay: 'long',
    numberingSystem: 'latn',
  })
  formats.set(locale, made)
  return made
}

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import {
  contents,
  type EmailContent,
  type SmsContent,
  type VoiceContent,
} from '../contract/resources/content.ts'
import { countSegments, encodingOf } from '../sms/segments.ts'
import { CODE_TEXT_TABLE } from './code-text-table.ts'
import { CODE_LOCALES, type CodeTextRequest, codeContent } from './code-texts.ts'

const CHANNELS = ['sms', 'whatsapp', 'email', 'voice'] as const
const UCS2 = [
  'hu',
  'bg',
  'el',
  'ru',
  'uk',
  'ar',
  'he',
  'fa',
  'hi',
  'th',
  'ja',
  'ko',
  'zh-CN',
  'zh-TW',
]
const RTL = ['ar', 'he', 'fa']
const NO_VOICE = ['fa', 'sw']
const MASK = '••••••'
const DOMAIN = 'example.com'
const HASH = 'FA+9qCX9VSu'
const LONG_BRAND = 'Acme Trading Company'

const REQUEST: CodeTextRequest = {
  channel: 'sms',
  locale: 'en',
  brand: 'Acme',
  mask: MASK,
  minutes: 10,
}

/** Every locale, channel, length of a code and validity, with a short and a long brand. */
const EVERY = CODE_LOCALES.flatMap((locale) =>
  CHANNELS.flatMap((channel) =>
    [4, 10].flatMap((length) =>
      [1, 2, 5, 10, 60].flatMap((minutes) =>
        ['Acme', LONG_BRAND].map((brand) => ({
          ...REQUEST,
          ...{ locale, channel, minutes, brand, mask: '•'.repeat(length) },
        })),
      ),
    ),
  ),
)

const smsOf = (more: Partial<CodeTextRequest> = {}) =>
  (codeContent({ ...REQUEST, ...more }).content as SmsContent).text
const mailOf = (more: Partial<CodeTextRequest> = {}) =>
  codeContent({ ...REQUEST, channel: 'email', ...more }).content as EmailContent
const callOf = (more: Partial<CodeTextRequest> = {}) =>
  codeContent({ ...REQUEST, channel: 'voice', ...more }).content as VoiceContent
const localeFor = (locale: string | null, more: Partial<CodeTextRequest> = {}) =>
  codeContent({ ...REQUEST, locale, ...more }).locale

const asSent = (text: string, mask = MASK) => text.replaceAll(mask, '0'.repeat(mask.length))
const times = (text: string, part: string) => text.split(part).length - 1
/** The texts of a content, without the language of a call. */
const textsOf = (request: CodeTextRequest) => {
  const { language, ...texts } = codeContent(request).content as VoiceContent
  return Object.values(texts) as string[]
}

describe('the texts of all locales', () => {
  it('are there for at least 30 locales, with the names that Intl uses', () => {
    expect(CODE_LOCALES.length).toBeGreaterThanOrEqual(30)
    expect(Intl.getCanonicalLocales([...CODE_LOCALES])).toEqual(CODE_LOCALES)
    expect(Intl.PluralRules.supportedLocalesOf([...CODE_LOCALES])).toEqual(CODE_LOCALES)
  })

  it('are accepted as content of their channel', () => {
    for (const request of EVERY) {
      const { content } = codeContent({ ...request, domain: DOMAIN, app_hash: HASH })
      expect(
        contents[request.channel].safeParse(content).error,
        request.locale ?? '',
      ).toBeUndefined()
    }
  })

  it('name the code where it stands and no placeholder', () => {
    for (const request of EVERY) {
      const { content } = codeContent(request)
      const counts = Object.entries(content).map(([field, text]) => [
        field,
        times(text, request.mask),
      ])
      expect(Object.fromEntries(counts), request.locale ?? '').toEqual(
        {
          sms: { text: 1 },
          whatsapp: { text: 1 },
          email: { subject: 1, text: 1, html: 1 },
          voice: { text: 2, language: 0 },
        }[request.channel],
      )
      const rest = textsOf(request).join('').replaceAll(request.mask, '1')
      expect(rest).not.toMatch(/[{}[\]|•]|undefined/)
      expect(rest).not.toMatch(/ {2}| [.,。]|\p{Cc}(?<!\n)|(?!\u200c)\p{Cf}/u)
    }
  })

  it('name the brand, except where an SMS has no room', () => {
    for (const request of EVERY) {
      for (const text of textsOf(request)) expect(text).toContain(request.brand)
    }
  })

  it('read as a sentence without a brand', () => {
    for (const locale of CODE_LOCALES) {
      for (const channel of CHANNELS) {
        for (const text of textsOf({ ...REQUEST, locale, channel, brand: '\u202e \n' })) {
          expect(text).not.toMatch(/[{}[\]|【】]| {2}| [.,。]|^\s|\s$/)
        }
      }
    }
    expect(smsOf({ brand: '' })).toMatch(/^•{6} is your verification code\. /)
    expect(smsOf({ brand: '', locale: 'ar' })).toMatch(/^•{6} هو الرمز الخاص بك\. /)
    expect(smsOf({ brand: '', locale: 'zh-CN' })).toMatch(/^您的验证码是•{6}。/)
  })

  it('name the code within the first 20 characters beside the brand', () => {
    for (const locale of CODE_LOCALES) {
      const before = smsOf({ locale }).split(MASK)[0] as string
      expect(before.replace('Acme', '').length, locale).toBeLessThan(20)
    }
  })

  it('have the minutes in the plural form of the language', () => {
    const validity = (locale: string, minutes: number) =>
      (codeContent({ ...REQUEST, channel: 'whatsapp', locale, minutes }).content as SmsContent).text
    expect(validity('en', 1)).toContain('Valid for 1 minute.')
    expect(validity('en', 2)).toContain('Valid for 2 minutes.')
    expect(validity('cs', 2)).toContain('Platnost: 2 minuty.')
    expect(validity('cs', 5)).toContain('Platnost: 5 minut.')
    expect(validity('ro', 60)).toContain('Valabil 60 de minute.')
    expect(validity('ja', 10)).toContain('10分間有効です。')
    for (const locale of CODE_LOCALES) expect(validity(locale, 60)).toContain('60')
  })
})

describe('an SMS', () => {
  it('is one segment with a code of 10 digits, a brand of 20 characters and both endings', () => {
    for (const request of EVERY.filter(({ channel }) => channel === 'sms')) {
      for (const endings of [{}, { domain: DOMAIN }, { domain: DOMAIN, app_hash: HASH }]) {
        const text = asSent(smsOf({ ...request, ...endings }), request.mask)
        expect(countSegments(text), text).toBe(1)
      }
    }
  })

  it.each(CODE_LOCALES)('in %s is GSM-7 where the language allows it', (locale) => {
    const text = asSent(smsOf({ locale }))
    expect(encodingOf(text), text).toBe(UCS2.includes(locale) ? 'UCS-2' : 'GSM-7')
  })

  it('has every sentence in GSM-7 with a brand of 20 characters and both endings', () => {
    for (const locale of CODE_LOCALES.filter((one) => !UCS2.includes(one))) {
      const more = { locale, mask: '•'.repeat(10), brand: LONG_BRAND, minutes: 60 }
      const text = smsOf({ ...more, domain: DOMAIN, app_hash: HASH })
      const { sms, ...texts } = CODE_TEXT_TABLE[locale] as (typeof CODE_TEXT_TABLE)[string]
      const { secret, valid } = sms ?? texts
      expect(text).toContain(secret)
      expect(text).toContain(valid.split('{')[0])
      expect(text).toContain('60')
      expect(text).toContain(LONG_BRAND)
    }
  })

  it('has every sentence in UCS-2 with a code of 6 digits and a short brand', () => {
    for (const locale of UCS2) {
      const text = smsOf({ locale, brand: 'Acme' })
      expect(text).toContain(CODE_TEXT_TABLE[locale]?.secret)
      expect(text, locale).toContain('10')
    }
  })

  it('leaves out the validity, the warning, words, letters and the whole of the brand, in this order', () => {
    const text = (brand: string, domain = '') =>
      smsOf({ locale: 'ru', brand, domain }).split('\n')[0]?.replace(MASK, '6')
    expect(text('Acme')).toBe('6 — ваш код Acme. Действует 10 мин. Никому его не сообщайте.')
    expect(text('Acme', 'd'.repeat(13))).toBe('6 — ваш код Acme. Никому его не сообщайте.')
    expect(text('Acme', 'd'.repeat(14))).toBe('6 — ваш код Acme. Действует 10 мин.')
    expect(text('Acme', 'd'.repeat(21))).toBe('6 — ваш код Acme.')
    expect(text('Acme Trading', 'd'.repeat(30))).toBe('6 — ваш код Acme Trading.')
    expect(text('Acme Trading', 'd'.repeat(31))).toBe('6 — ваш код Acme.')
    expect(text('Acmetrading', 'd'.repeat(32))).toBe('6 — ваш код Acmetradin.')
    expect(text('My Acmetrading', 'd'.repeat(31))).toBe('6 — ваш код My Acmetrad.')
    expect(text('Acme Trading', 'd'.repeat(37))).toBe('6 — ваш код Acme.')
    expect(text('Acme Trading', 'd'.repeat(39))).toBe('6 — ваш код.')
    expect(text('Acme Trading', 'd'.repeat(43))).toBe('6 — ваш код.')
  })

  it('keeps the brand and both endings when a long domain makes a second segment', () => {
    const domain = `${'login.'.repeat(12)}example`
    const text = smsOf({ locale: 'ru', domain, app_hash: HASH })
    expect(text).toBe(`${MASK} — ваш код Acme.\n@${domain} #${MASK}\n${HASH}`)
    expect(countSegments(asSent(text))).toBe(2)
  })

  it('does not divide what is read as one character at the end of the brand', () => {
    const family = '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}'
    const text = smsOf({
      locale: 'ru',
      brand: `Acme${family}${family}${family}`,
      domain: 'login.accounts.acme.example',
    })
    expect(text).toContain(`Acme${family}.`)
    expect(countSegments(asSent(text))).toBe(1)
  })

  it('ends with the line of WebOTP, then with the hash of SMS Retriever', () => {
    const [domain, app_hash] = [DOMAIN, HASH]
    expect(smsOf({ domain }).split('\n').slice(1)).toEqual([`@${DOMAIN} #${MASK}`])
    expect(smsOf({ app_hash }).split('\n').slice(1)).toEqual([HASH])
    expect(smsOf({ domain, app_hash }).split('\n').slice(1)).toEqual([`@${DOMAIN} #${MASK}`, HASH])
    expect(times(smsOf({ domain }), MASK)).toBe(2)
  })

  it('has its endings in no other channel', () => {
    for (const channel of ['whatsapp', 'email', 'voice'] as const) {
      const texts = textsOf({ ...REQUEST, channel, domain: DOMAIN, app_hash: HASH }).join()
      expect(texts).not.toMatch(/@example|FA\+9/)
    }
  })

  it('has no second line from a brand, domain or hash', () => {
    const text = smsOf({
      brand: 'A\r\ncme\u0000\u2028X',
      domain: 'exam\nple.com #1',
      app_hash: 'FA+9qCX\n9VSu',
    })
    expect(text.split(/[\n\r\u2028]/)).toEqual([
      expect.stringContaining('your A cme X verification code.'),
      `@example.com#1 #${MASK}`,
      HASH,
    ])
  })
})

describe('a brand', () => {
  it('stays as it is with braces, brackets and dollar signs', () => {
    for (const brand of ['{code}', '[a|b]', '$1$&', "$'"]) {
      expect(smsOf({ brand })).toContain(`${MASK} is your ${brand} verification code.`)
    }
  })

  it('loses the mask, direction marks and half a surrogate pair', () => {
    const brand = `A${MASK}c\u202eme\u200f\ud800`
    for (const channel of CHANNELS) {
      const [first = ''] = textsOf({ ...REQUEST, channel, brand })
      expect(first).toContain('A cme ')
      expect(times(first, MASK)).toBe(channel === 'voice' ? 2 : 1)
    }
  })

  it('keeps the joiners of words and emoji', () => {
    const brand = 'می\u200cخواهم'
    expect(smsOf({ brand, locale: 'fa' })).toContain(brand)
  })
})

describe('an e-mail', () => {
  it('has the code and the brand in the subject, without a full stop', () => {
    expect(mailOf().subject).toBe(`${MASK} is your Acme verification code`)
    expect(mailOf({ locale: 'ja' }).subject).toBe(`${MASK}はAcmeの認証コードです`)
    for (const locale of CODE_LOCALES) expect(mailOf({ locale }).subject).not.toMatch(/[.。।]$/)
  })

  it('has the language and the direction in HTML', () => {
    for (const locale of CODE_LOCALES) {
      const dir = RTL.includes(locale) ? 'rtl' : 'ltr'
      expect(mailOf({ locale }).html).toContain(`<html lang="${locale}" dir="${dir}">`)
    }
  })

  it('escapes the brand in HTML alone', () => {
    const brand = `<b>"A" & 'B'</b>`
    const { subject, text, html } = mailOf({ brand })
    expect(subject).toContain(brand)
    expect(text).toContain(brand)
    expect(html).toContain('&#60;b&#62;&#34;A&#34; &#38; &#39;B&#39;&#60;/b&#62;')
    expect(html).not.toContain('<b>')
  })

  it('has the same words in HTML and in text', () => {
    for (const locale of CODE_LOCALES) {
      const { html = '', text } = mailOf({ locale })
      const plain = html
        .replace(/<!doctype html>\n|<\/p>$/g, '')
        .replaceAll('</p><p>', '\n\n')
        .replace(/<[^>]+>/g, '')
        .replaceAll('&#39;', "'")
      expect(plain).toBe(text)
    }
  })
})

describe('a text from right to left', () => {
  it('starts with a word of its language, so that its lines have this direction', () => {
    for (const locale of RTL) {
      const texts = [smsOf({ locale }), mailOf({ locale }).subject, mailOf({ locale }).text ?? '']
      for (const text of texts) {
        expect(text.match(/\p{L}/u)?.[0], text).toMatch(/[\p{Script=Arabic}\p{Script=Hebrew}]/u)
      }
    }
  })

  it('has digits of one kind', () => {
    for (const locale of CODE_LOCALES) expect(smsOf({ locale })).not.toMatch(/(?![0-9])\p{Nd}/u)
  })
})

describe('a call', () => {
  it('is in a language that Twilio accepts', () => {
    const accepted = twilioLanguages()
    expect(accepted).toContain('en-GB')
    for (const locale of CODE_LOCALES) expect(accepted).toContain(callOf({ locale }).language)
  })

  it('has punctuation before and after the digits, for a pause', () => {
    for (const locale of CODE_LOCALES) {
      const { text = '' } = callOf({ locale })
      expect(text.match(/[.,:、，：。] ?•{6} ?[.,。।、]/gu), text).toHaveLength(2)
    }
  })

  it('is in English where the providers have no voice', () => {
    for (const locale of NO_VOICE) {
      expect(localeFor(locale, { channel: 'voice' })).toBe('en')
      expect(callOf({ locale })).toEqual(callOf({ locale: 'en' }))
    }
    for (const locale of CODE_LOCALES.filter((one) => !NO_VOICE.includes(one))) {
      expect(localeFor(locale, { channel: 'voice' })).toBe(locale)
      expect(callOf({ locale }).language?.split('-')[0]).toBe(locale.split('-')[0])
    }
  })
})

describe('the locale', () => {
  it.each(CODE_LOCALES)('%s has its own texts', (locale) => {
    expect(localeFor(locale)).toBe(locale)
    expect(localeFor(locale.toUpperCase())).toBe(locale)
  })

  it.each([
    [null, 'en'],
    ['de-AT', 'de'],
    ['de_CH', 'de'],
    ['de-Latn-DE-1996', 'de'],
    ['en-GB-u-ca-buddhist', 'en'],
    ['pt-PT', 'pt'],
    ['pt-AO', 'pt'],
    ['pt-BR', 'pt-BR'],
    ['es-419', 'es'],
    ['zh', 'zh-CN'],
    ['zh-SG', 'zh-CN'],
    ['zh-Hans-HK', 'zh-CN'],
    ['zh-HK', 'zh-TW'],
    ['zh-Hant', 'zh-TW'],
    ['cmn-Hant', 'zh-TW'],
    ['no', 'nb'],
    ['nn-NO', 'nb'],
    ['iw', 'he'],
    ['in', 'id'],
    ['is', 'en'],
    ['xx-YY', 'en'],
    ['', 'en'],
    ['de-', 'en'],
    ['not a tag', 'en'],
    ['../../etc/passwd', 'en'],
    ['__proto__', 'en'],
    ['constructor', 'en'],
    ['x'.repeat(10_000), 'en'],
  ])('%s gets %s', (tag, locale) => {
    expect(localeFor(tag)).toBe(locale)
  })
})

/** The tags that the `twilio` package lists for `<Say>`. */
function twilioLanguages(): string[] {
  const file = createRequire(import.meta.url).resolve('twilio/lib/twiml/VoiceResponse.d.ts')
  const [, tags = ''] = readFileSync(file, 'utf8').match(/type SayLanguage = ([^;]+);/) ?? []
  return tags.split(' | ').map((tag) => tag.replaceAll('"', ''))
}

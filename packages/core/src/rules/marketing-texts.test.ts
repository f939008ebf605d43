import { describe, expect, it } from 'vitest'
import type { Content } from '../contract/resources/content.ts'
import { withMarketingTexts } from './marketing-texts.ts'

const TEXTS = { postal_address: 'A & B\nMain Street 1', sms_opt_out_text: 'STOP to end' }
const FOOTER = '<p style="font-size:12px">A &amp; B<br>Main Street 1</p>'

const mail = (content: object) =>
  withMarketingTexts('email', { subject: 'News', ...content } as Content, TEXTS)

describe('the texts that end marketing messages', () => {
  it.each([
    ['a part of a document', '<p>Hi</p>', `<p>Hi</p>${FOOTER}`],
    ['a document', '<html><BODY>Hi</BODY ></html>', `<html><BODY>Hi${FOOTER}</BODY ></html>`],
    ['a document without the end of its body', '<html>Hi</html>', `<html>Hi${FOOTER}</html>`],
    ['two ends of a body', '<p></body></p></body>', `<p></body></p>${FOOTER}</body>`],
  ])('end %s', (_, html, ended) => {
    expect(mail({ html })).toEqual({ subject: 'News', html: ended })
  })

  it('end the plain text of an e-mail, and keep its placeholders', () => {
    expect(mail({ html: '{{name}}', text: 'Hi {{name}}' })).toEqual({
      subject: 'News',
      html: `{{name}}${FOOTER}`,
      text: 'Hi {{name}}\n\nA & B\nMain Street 1',
    })
  })

  it('are the last line of an SMS', () => {
    const ended = withMarketingTexts('sms', { text: 'Hi' }, TEXTS)
    expect(ended).toEqual({ text: 'Hi\nSTOP to end' })
  })

  it('change no other channel, and nothing without a setting', () => {
    const content = { text: 'Hi' }
    expect(withMarketingTexts('whatsapp', content, TEXTS)).toBe(content)
    const none = { postal_address: null, sms_opt_out_text: null }
    expect(withMarketingTexts('sms', content, none)).toBe(content)
    expect(withMarketingTexts('email', content as never, none)).toBe(content)
  })
})

import { expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import { shown } from './search.ts'

const make = builders(testRuntime('shown'))

it('replaces the content of attachments by their size', () => {
  const content = {
    subject: 'Invoice',
    text: 'It is attached.',
    attachments: [
      { filename: 'a.txt', content_type: 'text/plain', content: 'SGVsbG8=' },
      { filename: 'b.bin', content: 'AAAA' },
    ],
  }
  expect(shown(make.message('w1', { channel: 'email', content })).content).toEqual({
    subject: 'Invoice',
    text: 'It is attached.',
    attachments: [
      { filename: 'a.txt', content_type: 'text/plain', size_bytes: 5 },
      { filename: 'b.bin', size_bytes: 3 },
    ],
  })
})

it('returns other messages unchanged', () => {
  const message = make.message('w1')
  const { recipients: _, tags: __, duration_s: ___, ...others } = message
  const { template: ____, template_version, template_locale, deferred_until, ...record } = others
  expect([template_version, template_locale, deferred_until]).toEqual([null, null, null])
  expect(shown(message)).toStrictEqual(record)
})

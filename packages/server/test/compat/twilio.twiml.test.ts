import { describe, expect, it } from 'vitest'
import { readTwiml } from '../../src/compat/twilio/calls.ts'

const response = (inner: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Response>${inner}</Response>`

describe('TwiML', () => {
  it.each([
    ['<Say>Hello</Say>', { text: 'Hello' }],
    [
      '<Say voice="alice" language="en-GB">Hello &amp; welcome</Say>',
      { text: 'Hello & welcome', voice: 'alice', language: 'en-GB' },
    ],
    ['<Say>One.</Say>\n<Say>Two.</Say><Hangup/>', { text: 'One. Two.' }],
    ['<Pause length="1"/><Say>One.</Say><Pause/><Say>Two.</Say>', { text: 'One. Two.' }],
    ['<Say><![CDATA[1 < 2]]></Say>', { text: '1 < 2' }],
    [
      '<Play loop="1"> https://files.example.com/a.mp3 </Play>',
      { audio_url: 'https://files.example.com/a.mp3' },
    ],
  ])('reads %s', async (inner, content) => {
    expect(await readTwiml(response(inner))).toEqual(content)
  })

  it.each([
    ['', '<Response> needs <Say> or <Play>'],
    ['<Gather/>', '<Gather> is not supported here'],
    ['<Say>a</Say><Play>https://a.example/a.mp3</Play>', 'A call has <Say> verbs or one <Play>'],
    ['<Pause/>', '<Response> needs <Say> or <Play>'],
    ['<Say>a</Say><Pause volume="1"/>', "The attribute 'volume' of <Pause> is not supported"],
    ['<Hangup/><Say>a</Say>', '<Hangup> must be the last verb'],
    ['<Say loop="2">a</Say>', "The attribute 'loop' of <Say> is not supported"],
    ['<Say voice="a">a</Say><Say>b</Say>', 'All <Say> verbs must have the same voice and language'],
    ['<Say><break/></Say>', '<break> is not supported here'],
    ['text<Say>a</Say>', 'Text must stand in a verb'],
  ])('refuses %s', async (inner, message) => {
    await expect(readTwiml(response(inner))).rejects.toMatchObject({ code: 12100, message })
  })

  it.each([
    ['no XML', 'Hello'],
    ['an open element', '<Response><Say>a'],
    ['two roots', '<Response><Say>a</Say></Response><Response/>'],
    [
      'an entity of its own',
      '<!DOCTYPE r [<!ENTITY a "aaaa">]><Response><Say>&a;</Say></Response>',
    ],
    [
      'an external entity',
      '<!DOCTYPE r SYSTEM "file:///etc/passwd"><Response><Say>a</Say></Response>',
    ],
    ['an unknown entity', '<Response><Say>&lol;</Say></Response>'],
    ['many levels', `<Response>${'<Say>'.repeat(500)}`],
    ['a long text', `<Response><Say>${'a'.repeat(4000)}</Say></Response>`],
  ])('refuses %s', async (_, text) => {
    await expect(readTwiml(text)).rejects.toMatchObject({ code: 12100 })
  })
})

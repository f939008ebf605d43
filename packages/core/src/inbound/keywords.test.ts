import { describe, expect, it } from 'vitest'
import { keywordOf } from './reply.ts'

describe('keywordOf', () => {
  it.each([
    ['STOP', 'stop'],
    ['stop', 'stop'],
    ['  Stop \n', 'stop'],
    ['"STOP!"', 'stop'],
    ['«Stop».', 'stop'],
    ['🛑 stop 🛑🙏', 'stop'],
    ['ＳＴＯＰ', 'stop'],
    ['st\u200bop\ufeff', 'stop'],
    ['STOPALL', 'stop'],
    ['stop   all', 'stop'],
    ['opt\u00a0out', 'stop'],
    ['OptOut', 'stop'],
    ['unsubscribe', 'stop'],
    ['cancel', 'stop'],
    ['End.', 'stop'],
    ['quit', 'stop'],
    ['revoke', 'stop'],
    ['arret', 'stop'],
    ['Arrêt', 'stop'],
    ['arre\u0302t', 'stop'],
    ['start', 'start'],
    ['UNSTOP', 'start'],
    ['help', 'help'],
    ['Help?', 'help'],
    ['info', 'help'],
    ['yes', 'yes'],
    ['Yes!', 'yes'],
  ])('reads %j as %s', (text, keyword) => {
    expect(keywordOf(text)).toBe(keyword)
  })

  it.each([
    '',
    '🙏',
    'please stop',
    'stop it',
    'STOP 2',
    'st op',
    'stopp',
    'nonstop',
    'yes please',
    'the end',
    'constructor',
    '__proto__',
    `stop${'!'.repeat(200)}`,
  ])('finds no keyword in %j', (text) => {
    expect(keywordOf(text)).toBeNull()
  })

  it('is fast for a text of 1,000,000 punctuation marks', () => {
    expect(keywordOf(`a${'!'.repeat(1_000_000)}b`)).toBeNull()
  })
})

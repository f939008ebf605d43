import { describe, expect, it } from 'vitest'
import { fingerprintOf, signingSecrets } from './sealed-webhook.ts'

const rotating = { secret: 'new', previous_secret: 'old', accepted_secret: null }

describe('signing secrets', () => {
  it('are one secret outside a rotation', () => {
    const expected = { secret: 'new', other_secret: null }
    expect(signingSecrets({ ...rotating, previous_secret: null })).toEqual(expected)
    const known = { ...rotating, previous_secret: null, accepted_secret: fingerprintOf('old') }
    expect(signingSecrets(known)).toEqual(expected)
  })

  it('start with the old secret until the new one has worked', () => {
    const expected = { secret: 'old', other_secret: 'new' }
    expect(signingSecrets(rotating)).toEqual(expected)
    expect(signingSecrets({ ...rotating, accepted_secret: fingerprintOf('old') })).toEqual(expected)
  })

  it('start with the new secret after it was accepted', () => {
    const expected = { secret: 'new', other_secret: 'old' }
    expect(signingSecrets({ ...rotating, accepted_secret: fingerprintOf('new') })).toEqual(expected)
  })

  it('start with the previous secret after another rotation', () => {
    const again = {
      secret: 'newer',
      previous_secret: 'new',
      accepted_secret: fingerprintOf('older'),
    }
    expect(signingSecrets(again)).toEqual({ secret: 'new', other_secret: 'newer' })
  })
})

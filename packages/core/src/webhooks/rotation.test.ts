import { describe, expect, it } from 'vitest'
import { secretsInTurn } from './rotation.ts'
import { fingerprintOf } from './sealed-webhook.ts'

const rotating = { secret: 'new', previous_secret: 'old', accepted_secret: null }

describe('secrets in turn', () => {
  it('is the only secret outside an overlap', () => {
    const turn = { secret: 'new', other_secret: null }
    expect(secretsInTurn({ ...rotating, previous_secret: null })).toEqual(turn)
    const known = { ...rotating, previous_secret: null, accepted_secret: fingerprintOf('old') }
    expect(secretsInTurn(known)).toEqual(turn)
  })

  it('begins with the old one, and goes on with it as long as it works', () => {
    const turn = { secret: 'old', other_secret: 'new' }
    expect(secretsInTurn(rotating)).toEqual(turn)
    expect(secretsInTurn({ ...rotating, accepted_secret: fingerprintOf('old') })).toEqual(turn)
  })

  it('goes on with the new one once that was accepted', () => {
    const turn = { secret: 'new', other_secret: 'old' }
    expect(secretsInTurn({ ...rotating, accepted_secret: fingerprintOf('new') })).toEqual(turn)
  })

  it('begins anew with the secret that was there before when rotated again', () => {
    const again = {
      secret: 'newer',
      previous_secret: 'new',
      accepted_secret: fingerprintOf('older'),
    }
    expect(secretsInTurn(again)).toEqual({ secret: 'new', other_secret: 'newer' })
  })
})

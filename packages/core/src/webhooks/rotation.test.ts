import { describe, expect, it } from 'vitest'
import { createRotations } from './rotation.ts'

const rotating = { webhook_id: 'h1', secret: 'new', previous_secret: 'old' }

describe('createRotations', () => {
  it('begins with the old secret', () => {
    const rotations = createRotations()
    expect(rotations.inTurn(rotating)).toEqual({ secret: 'old', other_secret: 'new' })
  })

  it('goes on with the one that was accepted last, webhook by webhook', () => {
    const rotations = createRotations()
    rotations.accepted('h1', 'new')
    expect(rotations.inTurn(rotating)).toEqual({ secret: 'new', other_secret: 'old' })
    expect(rotations.inTurn({ ...rotating, webhook_id: 'h2' })).toMatchObject({ secret: 'old' })
    rotations.accepted('h1', 'old')
    expect(rotations.inTurn(rotating)).toEqual({ secret: 'old', other_secret: 'new' })
  })

  it('begins with the old secret again after another rotation', () => {
    const rotations = createRotations()
    rotations.accepted('h1', 'new')
    const again = { webhook_id: 'h1', secret: 'newer', previous_secret: 'new' }
    expect(rotations.inTurn(again)).toEqual({ secret: 'new', other_secret: 'newer' })
  })

  it('has one secret outside an overlap', () => {
    const rotations = createRotations()
    rotations.accepted('h1', 'old')
    const over = { webhook_id: 'h1', secret: 'new', previous_secret: null }
    expect(rotations.inTurn(over)).toEqual({ secret: 'new', other_secret: null })
  })

  it('forgets the oldest of very many', () => {
    const rotations = createRotations()
    for (let i = 0; i <= 10_000; i++) rotations.accepted(`h${i}`, 'new')
    expect(rotations.inTurn({ ...rotating, webhook_id: 'h0' })).toMatchObject({ secret: 'old' })
    expect(rotations.inTurn({ ...rotating, webhook_id: 'h1' })).toMatchObject({ secret: 'new' })
  })
})

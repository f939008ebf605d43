import { Text, useApp } from 'ink'
import { createElement, useEffect } from 'react'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fakeTerminal } from '../../test/fake-terminal.ts'
import { createOutput } from '../show/output.ts'
import { canOpenView, openView } from './open-view.ts'
import { useKeys } from './terminal.tsx'

const ENTER = '\u001b[?1049h'
const LEAVE = '\u001b[?1049l'
const SHOW_CURSOR = '\u001b[?25h'

function contextOf(terminal = fakeTerminal(), env: NodeJS.ProcessEnv = {}, json = false) {
  const stopping = new AbortController()
  const { stdin, stdout } = terminal
  const io = {
    env,
    stdin,
    stdout,
    stderr: stdout,
    cwd: '/',
    stopSignal: () => stopping.signal,
  }
  const context = { io, output: createOutput(io, () => json) }
  return { terminal, context, stopping }
}

function Hello({ error }: { error?: Error }) {
  const { exit } = useApp()
  useKeys((key) => key === 'q' && exit())
  useEffect(() => {
    if (error) exit(error)
  }, [error, exit])
  return createElement(Text, null, 'Hello')
}

const load = async () => createElement(Hello)

describe('canOpenView', () => {
  test.each([
    ['a terminal', {}, true],
    ['a terminal without colour', { NO_COLOR: '1' }, true],
    ['a dumb terminal', { TERM: 'dumb' }, false],
    ['CI', { CI: 'true' }, false],
  ])('%s', (_, env, expected) => {
    expect(canOpenView(contextOf(fakeTerminal(), env).context)).toBe(expected)
  })

  test('without a keyboard, and with --json', () => {
    const { terminal } = contextOf()
    expect(canOpenView(contextOf(terminal, {}, true).context)).toBe(false)
    Object.assign(terminal.stdin, { isTTY: false })
    expect(canOpenView(contextOf(terminal).context)).toBe(false)
  })
})

describe('openView', () => {
  const { CI } = process.env
  // In CI ink draws only at the end.
  beforeEach(() => void delete process.env.CI)
  afterEach(() => {
    if (CI !== undefined) process.env.CI = CI
  })

  test.each([
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ])('uses the alternate screen and restores the terminal after %s', async (_, key) => {
    const { terminal, context } = contextOf()
    const ended = openView(context, { screen: 'full', load })
    await terminal.until(/Hello/)
    expect(terminal.isRaw()).toBe(true)
    terminal.press(key)
    await ended
    expect(terminal.isRaw()).toBe(false)
    const written = terminal.written()
    expect(written.startsWith(ENTER)).toBe(true)
    expect(written.endsWith(LEAVE)).toBe(true)
    expect(written).toContain(SHOW_CURSOR)
  })

  test('ends when the run is stopped, also before its start', async () => {
    const { terminal, context, stopping } = contextOf()
    const ended = openView(context, { screen: 'full', load })
    await terminal.until(/Hello/)
    stopping.abort()
    await ended
    expect(terminal.isRaw()).toBe(false)
    expect(terminal.written().endsWith(LEAVE)).toBe(true)
    const before = terminal.written()
    await openView(context, { screen: 'full', load })
    expect(terminal.written()).toBe(before)
  })

  test('restores the terminal when the view fails, and throws its error', async () => {
    const { terminal, context } = contextOf()
    const error = new Error('no more')
    const failing = async () => createElement(Hello, { error })
    await expect(openView(context, { screen: 'full', load: failing })).rejects.toBe(error)
    expect(terminal.isRaw()).toBe(false)
    expect(terminal.written().endsWith(LEAVE)).toBe(true)
  })

  test('inline keeps the earlier output, also when the terminal becomes smaller', async () => {
    const { terminal, context } = contextOf(fakeTerminal(80, 24))
    const ended = openView(context, { screen: 'inline', load })
    await terminal.until(/Hello/)
    terminal.resize(40, 1)
    terminal.resize(30, 1)
    terminal.press('q')
    await ended
    expect(terminal.written()).not.toContain(ENTER)
    expect(terminal.written()).not.toContain('\u001b[3J')
  })

  test('removes its listeners', async () => {
    const count = () => process.listenerCount('exit')
    const before = count()
    const { terminal, context } = contextOf()
    const ended = openView(context, { screen: 'full', load })
    await terminal.until(/Hello/)
    terminal.press('q')
    await ended
    expect(count()).toBe(before)
  })
})

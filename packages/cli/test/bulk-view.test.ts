import { units } from '@svc/core/contract'
import { render } from 'ink-testing-library'
import { createElement } from 'react'
import { expect, test } from 'vitest'
import { createProgress } from '../src/bulk/progress.ts'
import type { OutputStream } from '../src/process/process-io.ts'
import { styleFor } from '../src/show/text.ts'
import { BulkView } from '../src/views/bulk.tsx'

const terminal = { isTTY: true } as OutputStream
const plain = styleFor(terminal, { NO_COLOR: '1' })

test('shows progress, counts and the current wait, and ends', async () => {
  const progress = createProgress({ file: 'people\u001b[2J.csv', rows_total: 20_000 })
  const { lastFrame } = render(createElement(BulkView, { progress, style: plain }))
  const totals = { rows: 8_200, accepted: 8_150, rejected: 30, duplicates: 20 }
  progress.set({ phase: 'sending', totals: { ...totals, credits: units(8_150_500_000) } })
  progress.set({ waiting: { reason: 'rate_limit', until: new Date(Date.now() + 252_000) } })
  await expect.poll(() => lastFrame()).toContain('continuing in 4:1')
  expect(lastFrame()).toMatch(/^Sending people\\u001b\[2J\.csv\n█+░+ +41% 8,200 of 20,000\n/)
  expect(lastFrame()).toMatch(/8,150 accepted +30 rejected +20 duplicates +8150\.5 credits/)
  progress.set({ waiting: null })
  await expect.poll(() => lastFrame()).not.toContain('continuing in')
})

test('has colours without NO_COLOR', async () => {
  const progress = createProgress({ file: 'people.csv', rows_total: 10 })
  const style = styleFor(terminal, {})
  const { lastFrame } = render(createElement(BulkView, { progress, style }))
  expect(lastFrame()).toContain('\u001b[32m0 to be sent')
})

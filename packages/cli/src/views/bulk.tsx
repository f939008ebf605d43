/** @jsxRuntime automatic */
import { formatCredits } from '@svc/core/contract'
import { Box, Text, useApp } from 'ink'
import { type ReactElement, useEffect, useState, useSyncExternalStore } from 'react'
import { clockText, type ProgressStore, paceOf, waitingText } from '../bulk/progress.ts'
import { barText } from '../show/progress-bar.ts'
import { counted, printable, type Style } from '../show/text.ts'
import { useTerminalSize } from './terminal.tsx'

const BAR_WIDTH_MIN = 10
const BAR_WIDTH_MAX = 60

/** The number of columns beside the bar, for the percentage and for numbers up to a million. */
const BESIDE_BAR = 34

const SECOND_MS = 1_000

/** The progress of a bulk: bar, counts, pace and waits. The view ends when the progress is over. */
export function BulkView({
  progress: store,
  style,
}: {
  progress: ProgressStore
  style: Style
}): ReactElement {
  const progress = useSyncExternalStore(store.subscribe, store.get)
  const { columns } = useTerminalSize()
  const { exit } = useApp()
  const now = useClock()
  const { phase, file, totals, rows_total, waiting, is_over } = progress
  useEffect(() => {
    if (is_over) exit()
  }, [is_over, exit])
  const isChecking = phase === 'checking'
  const pace = paceOf(progress, now)
  const share = rows_total === 0 ? 1 : totals.rows / rows_total
  const barWidth = Math.max(BAR_WIDTH_MIN, Math.min(BAR_WIDTH_MAX, columns - BESIDE_BAR))
  const rejected = `${count(totals.rejected)} rejected`
  const counts = [
    style('green', `${count(totals.accepted)} ${isChecking ? 'to be sent' : 'accepted'}`),
    totals.rejected > 0 ? style('red', rejected) : rejected,
    counted(totals.duplicates, 'duplicate'),
    counted(formatCredits(totals.credits), 'credit'),
    pace && `${count(Math.round(pace.rows_per_s))} rows/s`,
    pace && totals.rows < rows_total && `${clockText(pace.left_s)} left`,
  ]
  return (
    <Box flexDirection="column" width={columns}>
      <Text wrap="truncate-middle">
        {style('bold', `${isChecking ? 'Checking' : 'Sending'} ${printable(file)}`)}
      </Text>
      <Text wrap="truncate">
        {barText(share, barWidth)} {count(totals.rows)} of {count(rows_total)}
      </Text>
      <Box columnGap={3} flexWrap="wrap">
        {counts.map((text, i) => text && <Text key={i}>{text}</Text>)}
      </Box>
      {waiting && <Text wrap="truncate">{style('yellow', waitingText(waiting, now))}</Text>}
    </Box>
  )
}

function useClock(): Date {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), SECOND_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}

function count(number: number): string {
  return number.toLocaleString('en')
}

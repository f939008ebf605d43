/** @jsxRuntime automatic */
import { Box, Text, useStdout } from 'ink'
import { type ReactElement, useEffect, useState } from 'react'
import type { TerminalSize } from '../show/text.ts'

/** Shows lines. A line that is too wide is cut, not wrapped. */
export function Lines({ lines }: { lines: readonly string[] }): ReactElement {
  return (
    <Box flexDirection="column">
      {lines.map((line, i) => (
        <Text key={i} wrap="truncate-end">
          {line === '' ? ' ' : line}
        </Text>
      ))}
    </Box>
  )
}

/** The size of the terminal, updated when it changes. */
export function useTerminalSize(): TerminalSize {
  const { stdout } = useStdout()
  const [size, setSize] = useState(() => sizeOf(stdout))
  useEffect(() => {
    const update = () => setSize(sizeOf(stdout))
    stdout.on('resize', update)
    return () => void stdout.off('resize', update)
  }, [stdout])
  return size
}

function sizeOf({ columns, rows }: Partial<TerminalSize>): TerminalSize {
  return { columns: columns || 80, rows: rows || 24 }
}

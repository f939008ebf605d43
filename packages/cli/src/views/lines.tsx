/** @jsxRuntime automatic */
import { Box, Text } from 'ink'
import type { ReactElement } from 'react'

/** Lines under each other; one that is too wide is cut and never wrapped. */
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

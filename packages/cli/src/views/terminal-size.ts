import { useStdout } from 'ink'
import { useEffect, useState } from 'react'

/** How many characters the terminal shows, sideways and down. */
export interface TerminalSize {
  columns: number
  rows: number
}

/** The size of the terminal, now and whenever it changes. */
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

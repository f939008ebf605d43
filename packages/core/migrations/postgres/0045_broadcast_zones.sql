ALTER TABLE "broadcasts" ADD COLUMN "time_zone" text;--> statement-breakpoint
ALTER TABLE "broadcasts" ADD COLUMN "departures" json;
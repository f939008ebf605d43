DROP INDEX "verifications_network";--> statement-breakpoint
CREATE INDEX "verifications_status" ON "verifications" USING btree ("workspace_id","status","id");--> statement-breakpoint
CREATE INDEX "verifications_network" ON "verifications" USING btree ("workspace_id","client_network","created_at") WHERE client_network is not null;